"""What the model gets to see of the workspace. Little, in a stable order: a small model loses the thread in long
prompts, and a server reuses its cache only for what stays the same at the front."""

import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot.databases import tables_in
from surefoot.machine import StepStatus
from surefoot.outcome import CheckResult, FailureKind
from surefoot.plan import ExecutionStep
from surefoot.project import is_test, list_files
from surefoot.prompts import render
from surefoot.run import Run
from surefoot.state import RunState, StepRun
from surefoot.taskfiles import files_named_in

_DOCUMENTS = (".md", ".txt", ".rst")
_MAX_LISTED = 60


def briefing(run: Run) -> str:
    """The part of every prompt that does not change during a run: task, folder, the files that matter."""
    if not run.briefing:
        files = list_files(run.root)
        run.briefing = render(
            "briefing",
            task=run.task.text,
            listing=_listing(files),
            instructions=instructions(run.root, files),
            files=quoted_files(run.root, worth_showing(run, files), budget_chars(run) // 2),
            checks=_checks(run),
        )
    return run.briefing


def budget_chars(run: Run) -> int:
    """How much text of files fits: an eighth of a small model's window keeps it on the thread."""
    tokens = run.model.traits.context_tokens
    return tokens * 3 // (2 if run.model.traits.small else 4)


def _listing(files: Sequence[str]) -> str:
    if not files:
        return "(empty)"
    shown = [f"- {path}" for path in files[:_MAX_LISTED]]
    if len(files) > _MAX_LISTED:
        shown.append(f"- and {len(files) - _MAX_LISTED} more (list_files shows them)")
    return "\n".join(shown)


def instructions(root: Path, files: Sequence[str]) -> str:
    if "AGENTS.md" not in files:
        return ""
    return f"\n# AGENTS.md says\n{read_text(root / 'AGENTS.md', 2_000)}\n"


def worth_showing(run: Run, files: Sequence[str]) -> list[str]:
    """Files that the task names, then given tests, then documents; in a small folder simply everything."""
    named = [f for f in files if f in files_named_in(run.task.text) or f.rsplit("/", 1)[-1] in run.task.text]
    tests = [f for f in files if is_test(f)]
    documents = [f for f in files if f.endswith(_DOCUMENTS) and f != "AGENTS.md" and "LICENSE" not in f]
    rest = list(files) if len(files) <= 12 else []
    return list(dict.fromkeys([*named, *documents, *tests, *rest]))


def quoted_files(root: Path, paths: Iterable[str], budget: int) -> str:
    parts = []
    for path in paths:
        title, text = path, read_text(root / path, budget)
        if text is None and (text := tables_in(root / path, budget)) is not None:
            title = f"{path} (an SQLite database: its tables, with their first rows)"
        if text is None or len(text) > budget:
            continue
        budget -= len(text) + len(title) + 20
        parts.append(quoted(title, text))
    return "".join(parts)


def quoted(title: str, text: str) -> str:
    return f"\n# {title}\n```\n{text.rstrip()}\n```\n"


def read_text(path: Path, limit: int) -> str | None:
    """The file's text, or None when it is no text, is missing or is much too long to be shown."""
    try:
        look = path.lstat()
        if not stat.S_ISREG(look.st_mode) or look.st_size > limit * 4:
            return None
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


def _checks(run: Run) -> str:
    if not run.task.checks:
        return ""
    return "\n# Checked at the end\n" + "\n".join(f"- {check.label}" for check in run.task.checks) + "\n"


_MARKS = {StepStatus.SUCCEEDED: "done", StepStatus.RUNNING: "now", StepStatus.PENDING: "to do"}


def plan_text(state: RunState) -> str:
    return "\n".join(
        f"- {run.step.id} [{_MARKS.get(run.status, run.status.value)}] {run.step.name}" for run in state.steps.values()
    )


def step_text(step: ExecutionStep) -> str:
    lines = [step.name]
    if step.description and step.description != step.name:
        lines.append(step.description)
    if step.tool:
        lines.append(f"Tool: {step.tool}({', '.join(f'{k}={v!r}' for k, v in step.parameters.items())})")
    if step.writes:
        lines.append("Files to write: " + ", ".join(step.writes))
    lines += [f"Must hold: {check.label}" for check in step.checks if check.origin != "engine"]
    return "\n".join(lines)


def what_failed(mine: StepRun, results: Sequence[CheckResult], *, there: bool = False) -> str:
    """What the next try must not ignore: the failing part of the checks, and what earlier attempts taught."""
    failed = what_fails(mine, results, there=there)
    if not mine.notes:
        return failed
    learnt = "\n".join(f"- {note}" for note in dict.fromkeys(mine.notes[-3:]))
    return f"{failed}\n# Learnt from earlier attempts\n{learnt}\n"


def what_fails(mine: StepRun, results: Sequence[CheckResult], *, there: bool) -> str:
    """`there`: what is to be mended is there already, so what is wrong with it is worth knowing from the first."""
    lines: list[str] = []
    red = [r for r in results if not r.passed]
    refuted = bool(mine.failures) and mine.failures[-1].kind is FailureKind.REFUTED
    if red and (there or mine.actions or refuted or mine.kept):
        lines.append("\n# It fails now")
        lines += [f"{r.check.label}\n{r.detail.strip()}" for r in red[:2]]
    if mine.refused:
        lines.append("\n# Refused, do something else")
        lines += [f"- {reason}" for reason in dict.fromkeys(mine.refused[-2:])]
    return "\n".join(lines) + "\n" if lines else ""
