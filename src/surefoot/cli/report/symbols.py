"""Symbols and colours for statuses, with an ASCII set for terminals without Unicode."""

from dataclasses import dataclass

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import RunStatus, StepStatus


@dataclass(frozen=True, slots=True)
class Marks:
    done: str
    failed: str
    active: str
    pending: str
    skipped: str
    partial: str
    unknown: str
    arrow: str
    tail: str
    link: str
    dot: str
    more: str
    spinner: tuple[str, ...]

    def of_step(self, status: StepStatus) -> tuple[str, str]:
        """The symbol and the style for the status of a step."""
        match status:
            case StepStatus.SUCCEEDED:
                return self.done, "green"
            case StepStatus.FAILED:
                return self.failed, "red"
            case StepStatus.RUNNING:
                return self.active, "cyan"
            case StepStatus.PARTIAL | StepStatus.DEGRADED:
                return self.partial, "yellow"
            case StepStatus.SKIPPED | StepStatus.BLOCKED:
                return self.skipped, "yellow" if status is StepStatus.BLOCKED else "dim"
        return self.pending, "dim"

    def of_verdict(self, verdict: Verdict) -> tuple[str, str]:
        match verdict:
            case Verdict.VERIFIED:
                return self.done, "green"
            case Verdict.UNVERIFIED | Verdict.WAITING | Verdict.CANCELLED | Verdict.INTERRUPTED:
                return self.partial, "yellow"
        return self.failed, "red"

    def of_status(self, status: RunStatus) -> tuple[str, str]:
        match status:
            case "done" | "plan":
                return self.done, "green"
            case "running":
                return self.active, "cyan"
            case "failed":
                return self.failed, "red"
            case "undone":
                return self.skipped, "yellow"
        return self.partial, "yellow"

    def of_check(self, passed: bool) -> tuple[str, str]:
        return (self.done, "green") if passed else (self.failed, "red")


UNICODE = Marks(
    done="✓",
    failed="✗",
    active="●",
    pending="○",
    skipped="–",
    partial="◐",
    unknown="?",
    arrow="↳",
    tail="│",
    link="──",
    dot="·",
    more="⋮",
    spinner=("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"),
)

ASCII = Marks(
    done="+",
    failed="x",
    active="*",
    pending=".",
    skipped="-",
    partial="~",
    unknown="?",
    arrow=">",
    tail="|",
    link="--",
    dot="|",
    more=":",
    spinner=("|", "/", "-", "\\"),
)


def marks_for(encoding: str | None) -> Marks:
    """The Unicode set if the encoding has all its symbols, else ASCII."""
    try:
        "".join((UNICODE.done, UNICODE.failed, UNICODE.link, *UNICODE.spinner)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
