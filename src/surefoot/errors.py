"""Every error Surefoot raises on purpose, in one tree.

    SurefootError
    ├── UsageError                 the request itself is wrong (empty task, missing folder)
    │   └── UnknownRun
    ├── ConfigError                a setting or a config file is wrong; names file and line
    ├── ModelError
    │   ├── NoModel                nothing is configured that could answer
    │   ├── ModelUnavailable       temporary: refused, timed out, 5xx
    │   ├── ModelRateLimited       temporary: 429
    │   ├── ModelRejected          permanent: wrong key, unknown model, bad request
    │   ├── UnreadableAnswer       the answer could not be read as what was asked for
    │   ├── ModelRuntimeMissing    what runs the embedded model is not installed or does not load
    │   ├── WeightsError           the embedded model's file is missing, broken or could not be fetched
    │   └── CassetteMiss           a replay asked something that was not recorded
    ├── PlanError                  a plan that cannot be run
    │   └── PlanCycle              with the path of the cycle
    ├── ToolError                  names the tool and, where it can, the argument
    │   ├── UnknownTool
    │   ├── PathOutsideWorkspace
    │   ├── PathProtected          may be read, not changed: earlier tests, .git, Surefoot's own files
    │   ├── ToolTimeout            temporary
    │   └── ToolUnavailable        temporary: a connection was refused or lost
    ├── MissingArtifact            what a finished step handed on is gone
    ├── JournalError
    │   ├── JournalVersion         written by another version of Surefoot
    │   ├── JournalBroken          not a journal, or damaged
    │   └── JournalBusy            another process holds it
    ├── WorkspaceError
    │   ├── WorkspaceLocked        another run owns this folder
    │   ├── SnapshotOverQuota      names the heavy folders
    │   ├── RestoreConflict        the user changed files meanwhile
    │   └── SandboxUnavailable     the asked-for isolation is not there
    └── IllegalTransition          a bug in Surefoot, never the user's fault

An error says what happened (`str(error)`) and what to do about it (`error.remedy`).
`temporary` tells whether the same call may work a moment later.
"""

from collections.abc import Sequence


class SurefootError(Exception):
    temporary = False

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class UsageError(SurefootError):
    pass


class UnknownRun(UsageError):
    pass


class ConfigError(SurefootError):
    pass


class ModelError(SurefootError):
    pass


class NoModel(ModelError):
    pass


class ModelUnavailable(ModelError):
    temporary = True


class ModelRateLimited(ModelError):
    temporary = True

    def __init__(self, message: str, *, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class ModelRejected(ModelError):
    pass


class UnreadableAnswer(ModelError):
    """`answer` is what the model said; `problem` is told to it when it is asked again."""

    def __init__(self, problem: str, *, answer: str = "", remedy: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.problem = problem
        self.answer = answer


class ModelRuntimeMissing(ModelError):
    pass


class WeightsError(ModelError):
    pass


class CassetteMiss(ModelError):
    pass


class PlanError(SurefootError):
    pass


class PlanCycle(PlanError):
    def __init__(self, path: Sequence[str]) -> None:
        super().__init__("the steps depend on each other in a circle: " + " -> ".join(path))
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


class WorkspaceError(SurefootError):
    pass


class WorkspaceLocked(WorkspaceError):
    pass


class SnapshotOverQuota(WorkspaceError):
    pass


class RestoreConflict(WorkspaceError):
    def __init__(self, paths: Sequence[str]) -> None:
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        super().__init__(
            f"these files were changed by someone else meanwhile: {shown}",
            remedy="keep your changes and leave the rest as it is, or say --force to overwrite them",
        )
        self.paths = tuple(paths)


class SandboxUnavailable(WorkspaceError):
    pass


class IllegalTransition(SurefootError):
    pass
