"""Split a free-form answer into its files and commands.

Small models make fewer mistakes in free form than with tool calls in JSON: they name a file above its block and write
commands into a shell block.
"""

from dataclasses import dataclass

from surefoot.models.parsing.blocks import blocks
from surefoot.models.parsing.labels import label_in_info, mentions, named_file
from surefoot.models.parsing.thinking import without_thinking

EXAMPLE_FOLDER = "path/to/"
"""The folder of the example in the prompt, which small models copy."""
_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console"})


@dataclass(frozen=True, slots=True)
class Part:
    path: str
    """Empty for commands."""
    text: str


def parts(answer: str, unnamed: str = "") -> list[Part]:
    """The parts in the order of the answer.

    A block without a file name belongs to the file `unnamed`; without `unnamed`, it is an example and omitted.
    """
    result = []
    for block in blocks(without_thinking(answer), several_files=True):
        path = label_in_info(block.info, "") or (named_file(block.lines[0], "") if block.lines else "") or ""
        path = path or next(iter(reversed(mentions(block.above, ""))), "")
        path = path.removeprefix(EXAMPLE_FOLDER)
        if block.language in _SHELLS and not path.endswith(".sh"):
            result.append(Part("", _strip_prompts(block.text)))
        elif path or unnamed:
            result.append(Part(path or unnamed, block.text))
    return result


def _strip_prompts(commands: str) -> str:
    """Keep only the commands of a shell session with `$ ` prompts; other text is returned unchanged."""
    lines = [line[2:] for line in commands.splitlines() if line.startswith("$ ")]
    return "\n".join(lines) + "\n" if lines else commands
