"""The body of a pull request, from the report of a run: purpose, changes, proof, and what was not verified."""

from collections.abc import Iterable, Iterator, Sequence

from surefoot.report.document import Report
from surefoot.report.markdown import changed_rows, check_rows, code, table, text
from surefoot.report.words import ReportTexts

MAX_STEPS = 20


def as_pull_request(report: Report, understanding: str = "", done_rows: Sequence[str] = ()) -> str:
    """Render the body in Markdown. It is shorter than the report: no costs, no recoveries, no environment.

    `understanding` and `done_rows` are the model's statements about the task and about its steps.
    """
    texts = ReportTexts(report)
    parts: list[Iterable[str]] = [
        _purpose(texts, understanding, done_rows),
        _changes(texts),
        _proof(texts),
        _not_verified(texts),
        _origin(texts),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _purpose(texts: ReportTexts, understanding: str, done_rows: Sequence[str]) -> Iterator[str]:
    yield "## What and why"
    yield ""
    yield text(texts.run["title"], 2_000)
    yield ""
    if understanding and understanding.rstrip(".") != texts.run["title"].rstrip("."):
        yield text(understanding, 600)
        yield ""
    if done_rows:
        yield from (f"- {text(row.removeprefix('- '), 600)}" for row in done_rows[:MAX_STEPS])
        yield from [f"- and {len(done_rows) - MAX_STEPS} more steps"] if len(done_rows) > MAX_STEPS else []
        yield ""


def _changes(texts: ReportTexts) -> Iterator[str]:
    yield "## Changes"
    yield ""
    if texts.report["diff_problem"]:
        yield f"What the run changed is not known: {text(texts.report['diff_problem'], 400)}"
        yield ""
    elif not texts.report["diff"]:
        yield "No file was changed."
        yield ""
    else:
        yield from table(("file", "", "lines"), changed_rows(texts))


def _proof(texts: ReportTexts) -> Iterator[str]:
    yield "## Proof"
    yield ""
    if texts.proof and not texts.is_outdated:
        yield f"**{texts.verdict}. Proof {texts.proof}.**"
    else:
        yield f"**{texts.verdict}.**"
    if texts.state:
        yield f"**{texts.state}**"
    if texts.summary:
        yield text(texts.summary, 600)
    yield ""
    if texts.report["checks"]:
        yield from table(("check", "before → now", "from"), check_rows(texts))
    tests = texts.report["tests"]
    if tests and (tests["before"] or tests["after"]):
        yield f"Tests of the project, before: {tests['before'] or 'unknown'}; now: {tests['after'] or 'unknown'}."
        yield ""


def _not_verified(texts: ReportTexts) -> Iterator[str]:
    report, tests = texts.report, texts.report["tests"]
    names = {step["id"]: step["name"] for step in texts.steps}
    gaps = [f"no check could prove the step {names.get(step, step)}" for step in report["unproven_steps"]]
    if tests:
        gaps += [f"regressed: {name}" for name in tests["regressions"]]
        gaps += [f"no longer run: {name}" for name in tests["no_longer_run"]]
        gaps += tests["problems"]
    gaps += report["notes"]
    gaps += [f"open question: {question['text']}" for question in texts.questions]
    yield "## Not verified"
    yield ""
    yield from (f"- {text(line, 400)}" for line in dict.fromkeys(gaps))
    yield "- what the checks above do not cover"
    yield ""


def _origin(texts: ReportTexts) -> Iterator[str]:
    commits = texts.report["commits"]
    commit_list = (
        f", commit{'s' if len(commits) > 1 else ''} {', '.join(commit[:10] for commit in commits)}" if commits else ""
    )
    yield f"Made by Surefoot {texts.report['version']}, run {code(texts.run['id'])}{commit_list}."
