"""Cut a free answer into what it wants done: files with their content, and commands.

Asked for files and commands in its own words, a small model makes fewer mistakes than with tools in JSON: it names a
file above its block and writes commands into a block of the shell.
"""

from dataclasses import dataclass

from surefoot.models.blocks import blocks
from surefoot.models.labels import header, label_in_info, mentions
from surefoot.models.thinking import without_thinking

EXAMPLE_FOLDER = "path/to/"
"""Of the example in the prompt: small models take it for real."""
_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console"})


@dataclass(frozen=True, slots=True)
class Part:
    path: str
    """Empty for commands."""
    text: str


def parts(answer: str, unnamed: str = "") -> list[Part]:
    """In the order of the answer. `unnamed` is the file that a block must be for that names none, where that is known;
    other blocks without a name are examples, and left out."""
    found = []
    for block in blocks(without_thinking(answer), several_files=True):
        path = label_in_info(block.info, "") or (header(block.lines[0], "") if block.lines else "") or ""
        path = path or next(iter(reversed(mentions(block.above, ""))), "")
        path = path.removeprefix(EXAMPLE_FOLDER)
        if block.language in _SHELLS and not path.endswith(".sh"):
            found.append(Part("", _without_prompts(block.text)))
        elif path or unnamed:
            found.append(Part(path or unnamed, block.text))
    return found


def _without_prompts(commands: str) -> str:
    """`$ make` is how a session shows what was typed; what it printed is not to be typed."""
    typed = [line[2:] for line in commands.splitlines() if line.startswith("$ ")]
    return "\n".join(typed) + "\n" if typed else commands
