"""The limits a command runs under, and its result."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    timeout: float = 120.0
    output_bytes: int = 1_000_000
    """How much output is kept: its beginning and its end, around a line that says how much was left out. A command that
    prints more is not ended."""
    memory_bytes: int | None = None
    """Private writable memory of each process (RLIMIT_DATA). Address space is not limited: many programs reserve far
    more of it than they use."""
    processes: int | None = None
    """Number of processes of the command and its descendants. They are counted up to twenty times a second, and the
    command is ended if there are more; in the sandbox of an ordinary user the kernel also refuses to create more."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    argv: tuple[str, ...]
    exit_code: int | None
    """None if Surefoot ended the command; 128 + n if signal n did."""
    signal: int | None
    timed_out: bool
    output: str
    """stdout and stderr, interleaved, bounded, decoded as UTF-8 with replacement characters."""
    output_bytes: int
    truncated: bool
    duration_ms: int
    notes: tuple[str, ...] = ()
    """Other events: background processes ended, guarded files restored, limits exceeded."""
    warnings: tuple[str, ...] = ()
    """The notes that the user must see: attempts to change guarded files, new git repositories."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0
