"""The context of a tool call: the workspace, its limits, and the run's services that a tool may use."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surefoot.errors import PathProtected
from surefoot.tools.fs.fileio import refuse_placeholders
from surefoot.tools.fs.paths import resolve
from surefoot.tools.text.summary import head_and_tail, summarise

if TYPE_CHECKING:
    from surefoot.workspace.sandbox.sandbox import Sandbox


def _no_blobs(key: str) -> bytes:
    raise KeyError(key)


def _ignore(message: str) -> None:
    pass


def _never(path: str) -> bool:
    return False


NOT_WEAKENED = "has tests from before the run, which may be extended but not weakened"


def weakening(weakened: Mapping[str, str]) -> PathProtected | None:
    """Return the error for weakened tests, which are given by file; None if there are none."""
    problems = [f"{name!r} {NOT_WEAKENED}: {tests}" for name, tests in weakened.items() if tests]
    remedy = "leave the existing tests as they are and add new ones; change the code, not the tests"
    return PathProtected("; ".join(problems), argument="path", remedy=remedy) if problems else None


def _weakens_nothing(path: str, content: bytes | None, moved_to: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Hop:
    """A request of a tool to a web server that was not approved with the call itself."""

    url: str
    address: str
    """The IP address that the host resolves to; its name, if a proxy resolves it."""
    private: str
    """The kind of a non-public address: loopback, link-local or private. Empty for a public one."""
    redirected_from: str = ""


async def _permit_none(hop: Hop) -> str:
    return "nobody can be asked about it"


@dataclass
class ToolContext:
    """Passed to a tool function whose first parameter has this type."""

    root: Path
    not_writable: frozenset[str] = frozenset()
    """Relative paths that may be read but not changed."""
    may_rewrite: Callable[[str], bool] = _never
    """Whether a file that is marked as generated may be changed by hand."""
    weakens: Callable[[str, bytes | None, str], str] = _weakens_nothing
    """Takes a path, the new content of the file (None if it is deleted) and the new path of a moved file (or empty).
    Returns the tests from before the run that this would weaken; empty if there are none."""
    sandbox: "Sandbox | None" = None
    network: bool = False
    command_timeout: float = 120.0
    command_processes: int | None = None
    command_memory_bytes: int | None = None
    redact: Callable[[str], str] = str
    """Removes secrets. Models see redacted text, so text that they write may contain placeholders."""
    has_hidden: Callable[[], bool] = bool
    """Whether a secret was replaced by a placeholder in text that the model has seen."""
    read_blob: Callable[[str], bytes] = _no_blobs
    results: Mapping[str, str] = field(default_factory=dict)
    """Maps an action id to the key of the blob that holds its full output."""
    step_outputs: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[str], Awaitable[str]] | None = None
    permit: Callable[[Hop], Awaitable[str]] = _permit_none
    """Decides on a hop by the rules, or asks a person. Returns why it is refused; empty if it is allowed."""
    on_output: Callable[[str], None] | None = None
    warn: Callable[[str], None] = _ignore
    """Tells the user about an attempt to change guarded files. The model is told by the result."""
    action_id: str = ""
    """The id under which `read_result` finds the full output of this call."""
    summary_chars: int = 2_400
    read_chars: int = 8_000
    """How many characters of a file `read_file` shows at once."""
    search_matches: int = 50
    """How many matches `search` shows."""
    edit_format: Literal["edit_file", "apply_patch"] = "edit_file"
    """The form in which the model edits files. The tools of the other form are not offered to it."""
    truncate_middle: bool = False
    """Summaries keep the beginning and the end of a long output, instead of selecting lines that look like errors."""

    def path(self, path: str, *, for_writing: bool = False, follow: bool = True) -> Path:
        """Resolve a path given by a model; raise a `ToolError` if it is outside the workspace or not writable."""
        if for_writing:
            refuse_placeholders(self.has_hidden, "path", path)
        return resolve(self.root, path, for_writing=for_writing, not_writable=self.not_writable, follow=follow)

    def refuse_weakening(self, name: str, content: bytes | None, moved_to: str = "") -> None:
        """Raise a `ToolError` if tests from before the run would be lost, changed, or moved where no runner looks."""
        if error := weakening({name: self.weakens(name, content, moved_to)}):
            raise error

    def for_action(self, action_id: str, permit: Callable[[Hop], Awaitable[str]] = _permit_none) -> "ToolContext":
        new = object.__new__(ToolContext)
        new.__dict__.update(self.__dict__, action_id=action_id, permit=permit)
        return new

    def summary(self, output: str, *, failed: bool = False) -> str:
        """Remove secrets from the output of a tool and shorten it to `summary_chars`, for the model."""
        # Redact before shortening: half of a secret that is cut in two would remain.
        output = self.redact(output)
        if self.truncate_middle:
            return head_and_tail(output, limit=self.summary_chars, result_id=self.action_id)
        return summarise(output, limit=self.summary_chars, failed=failed, result_id=self.action_id)
