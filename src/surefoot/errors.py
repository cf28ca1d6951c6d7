"""The errors that Surefoot raises.

    SurefootError
    ├── UsageError                 the request is invalid (empty task, missing folder)
    │   ├── UnknownRun
    │   └── CommandNotFound        a check names a command that is not on this machine
    ├── ConfigError                a setting or a config file is invalid; names file and line
    ├── ModelError
    │   ├── NoModel                no model is configured
    │   │   └── KeyMissing         the variable that holds the provider's key is not set
    │   ├── ModelUnavailable       temporary: timeout, 5xx
    │   │   └── ServerUnreachable  temporary: connection refused, unknown host
    │   ├── ModelRateLimited       temporary: 429
    │   ├── ModelRejected          permanent: bad request, and others without a class of their own
    │   │   ├── KeyRequired        the server asks for a key, and none is configured
    │   │   ├── KeyRejected        the server does not accept the key
    │   │   ├── NotPermitted       the key is valid but may not use the model
    │   │   ├── QuotaExhausted     the account has no credit or quota left
    │   │   ├── UnknownModel       the server does not have the model
    │   │   ├── NotAModelServer    something else answers at the address
    │   │   ├── UntrustedServer    the connection is not secure: invalid certificate, or no TLS
    │   │   └── ContextOverflow    the request is longer than the model's context
    │   ├── UnreadableAnswer       the answer could not be parsed
    │   │   └── NothingSubmitted   the model did not submit what it was asked for
    │   ├── ModelRuntimeMissing    a provider's SDK, or the embedded model's runtime, is missing or does not load
    │   ├── WeightsError           the weights of the embedded model are missing, damaged or could not be downloaded
    │   └── CassetteMiss           a replayed session has no recording of this request
    ├── TaskImpossible             the model shows that the task cannot be done as asked
    ├── PlanError                  a plan that cannot be run
    │   └── PlanCycle              with the path of the cycle
    ├── ToolError                  names the tool and, where it can, the argument
    │   ├── UnknownTool
    │   ├── PathOutsideWorkspace
    │   ├── PathProtected          read-only: existing tests, .git, Surefoot's own files
    │   ├── ToolTimeout            temporary
    │   └── ToolUnavailable        temporary: a connection was refused or lost
    ├── MissingArtifact            the result of a finished step is no longer available
    ├── JournalError
    │   ├── JournalVersion         written by another version of Surefoot
    │   ├── JournalBroken          not a journal, or damaged
    │   ├── JournalBusy            locked or written by another process
    │   │   └── LeaseLost          another process has taken this run over
    │   ├── JournalUnreachable     temporary: the database does not answer
    │   ├── CheckpointAhead        a checkpoint of another program has events that the journal does not have
    │   └── JournalFull            the disk has no room for it
    ├── WorkspaceError
    │   ├── WorkspaceLocked        another run owns this folder
    │   ├── SnapshotOverQuota      names the heavy folders
    │   ├── RestoreConflict        the files were changed since
    │   ├── RestoreIncomplete      the disk has no room for some files
    │   └── SandboxUnavailable     the requested isolation is not available
    ├── GitError                   the user's git failed, or a hook refused
    │   └── NothingToCommit        the changes are committed already, or git ignores them
    ├── WorkersUnreachable         temporary: the server that assigns runs to workers does not answer
    └── IllegalTransition          a bug in Surefoot

`str(error)` says what happened, `error.remedy` what to do about it.
`temporary` says whether the same call may succeed later.
`cause` is a stable name for a problem of the setup, which no new plan would solve. Output with `--json` has it.
"""

from collections.abc import Sequence

_MAX_LISTED = 50


class SurefootError(Exception):
    temporary = False
    cause = ""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        if remedy:
            self.add_note(remedy)  # a traceback shows it

    @property
    def notes(self) -> list[str]:
        """The notes that were added to the error, without the remedy."""
        return [note for note in self.__notes__ if note != self.remedy] if hasattr(self, "__notes__") else []


class UsageError(SurefootError):
    pass


class UnknownRun(UsageError):
    pass


class CommandNotFound(UsageError):
    cause = "command_not_found"


class ConfigError(SurefootError):
    pass


class ModelError(SurefootError):
    pass


class NoModel(ModelError):
    cause = "no_model"


class KeyMissing(NoModel):
    cause = "key_missing"


class ModelUnavailable(ModelError):
    temporary = True
    cause = "server_failing"


class ServerUnreachable(ModelUnavailable):
    cause = "server_unreachable"


class ModelRateLimited(ModelError):
    temporary = True
    cause = "rate_limited"

    def __init__(self, message: str, *, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class ModelRejected(ModelError):
    cause = "request_rejected"


class KeyRequired(ModelRejected):
    cause = "key_missing"


class KeyRejected(ModelRejected):
    cause = "key_rejected"


class NotPermitted(ModelRejected):
    cause = "not_permitted"


class QuotaExhausted(ModelRejected):
    cause = "quota_exhausted"


class UnknownModel(ModelRejected):
    cause = "unknown_model"


class NotAModelServer(ModelRejected):
    cause = "not_a_model_server"


class UntrustedServer(ModelRejected):
    cause = "untrusted_server"


class ContextOverflow(ModelRejected):
    """`limit` is the context window and `needed` the length of the request, in tokens; None if they are unknown."""

    cause = "context_overflow"

    def __init__(self, message: str, *, remedy: str = "", limit: int | None = None, needed: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.limit = limit
        self.needed = needed


class UnreadableAnswer(ModelError):
    """`answer` is the text of the model; `problem` goes into the next prompt."""

    def __init__(self, problem: str, *, answer: str = "", remedy: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.problem = problem
        self.answer = answer


class NothingSubmitted(UnreadableAnswer):
    """The model did not submit what it was asked for. Its answer itself could be parsed."""


class ModelRuntimeMissing(ModelError):
    cause = "package_missing"


class WeightsError(ModelError):
    cause = "weights_missing"


class CassetteMiss(ModelError):
    pass


class TaskImpossible(SurefootError):
    pass


class PlanError(SurefootError):
    pass


class PlanCycle(PlanError):
    def __init__(self, path: Sequence[str]) -> None:
        super().__init__("the steps depend on each other in a cycle: " + " -> ".join(path))
        self.path = tuple(path)


class ToolError(SurefootError):
    def __init__(self, message: str, *, tool: str = "", argument: str = "", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.tool = tool
        self.argument = argument


class UnknownTool(ToolError):
    pass


class PathOutsideWorkspace(ToolError):
    pass


class PathProtected(ToolError):
    pass


class ToolTimeout(ToolError):
    temporary = True


class ToolUnavailable(ToolError):
    temporary = True


class MissingArtifact(SurefootError):
    pass


class JournalError(SurefootError):
    pass


class JournalVersion(JournalError):
    pass


class JournalBroken(JournalError):
    pass


class JournalBusy(JournalError):
    pass


class LeaseLost(JournalBusy):
    pass


class JournalUnreachable(JournalError):
    temporary = True


class CheckpointAhead(JournalError):
    """`seen` is the last event that the checkpoint knows, `last` the last one in the journal."""

    def __init__(self, run_id: str, seen: int, last: int) -> None:
        has = f"its journal ends with event {last}" if last else "the journal does not have this run"
        super().__init__(
            f"the checkpoint is ahead of the journal: it knows event {seen} of run {run_id}, and {has}",
            remedy="open the journal that the checkpoint was made with; if an older copy of it was restored, "
            "continue without this checkpoint: begin a new thread and give it the id of the run",
        )
        self.run_id, self.seen, self.last = run_id, seen, last


class JournalFull(JournalError):
    cause = "disk_full"


class WorkspaceError(SurefootError):
    pass


class WorkspaceLocked(WorkspaceError):
    pass


class SnapshotOverQuota(WorkspaceError):
    pass


class RestoreConflict(WorkspaceError):
    """`runs` are later runs of Surefoot that changed these files, the newest first."""

    def __init__(self, paths: Sequence[str], runs: Sequence[str] = ()) -> None:
        listed = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        by, first = "you or another program", ""
        if runs:
            by = f"run {runs[0]}" if len(runs) == 1 else f"the runs {', '.join(runs)}"
            first = f"undo {'that one' if len(runs) == 1 else 'those'} first: surefoot undo {runs[0]}; or "
        super().__init__(
            f"these files were changed since by {by}: {listed}",
            remedy=f"{first}leave the files as they are, or use --force to overwrite them",
        )
        self.paths, self.runs = tuple(paths), tuple(runs)


class RestoreIncomplete(WorkspaceError):
    """Everything except `paths` was restored. Nothing is lost: the content of these files is stored."""

    def __init__(self, paths: Sequence[str], moved_aside: Sequence[str] = ()) -> None:
        count = "1 file" if len(paths) == 1 else f"{len(paths)} files"
        listed = "".join(f"\n  {path}" for path in paths[:_MAX_LISTED])
        more = f"\n  and {len(paths) - _MAX_LISTED} more" if len(paths) > _MAX_LISTED else ""
        advice = f" (for example, delete what was moved aside: {', '.join(moved_aside[:3])})" if moved_aside else ""
        super().__init__(
            f"the disk has no room for {count}, everything else was restored:{listed}{more}",
            remedy=f"free some space{advice} and do the same again; the content of these files is stored",
        )
        self.paths = tuple(paths)


class SandboxUnavailable(WorkspaceError):
    cause = "no_sandbox"


class GitError(SurefootError):
    """The user's git failed, or one of its hooks refused the operation."""


class NothingToCommit(GitError):
    """The changes of the run are committed already, or git ignores them."""


class WorkersUnreachable(SurefootError):
    temporary = True


class IllegalTransition(SurefootError):
    pass
