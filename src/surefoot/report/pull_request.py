"""The body of a pull request, from the report of a run: purpose, changes, proof, and what was not verified."""

from collections.abc import Iterable, Iterator, Sequence

from surefoot.report.document import Report
from surefoot.report.markdown import changed_rows, check_rows, code, table, text
from surefoot.report.words import Words

MAX_STEPS = 20


def as_pull_request(report: Report, understanding: str = "", done: Sequence[str] = ()) -> str:
    """Render the body in Markdown. It is shorter than the report: no costs, no recoveries, no environment.

    `understanding` and `done` are the model's statements about the task and about its steps.
    """
    words = Words(report)
    parts: list[Iterable[str]] = [
        _what(words, understanding, done),
        _changes(words),
        _proof(words),
        _not_verified(words),
        _origin(words),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _what(words: Words, understanding: str, done: Sequence[str]) -> Iterator[str]:
    yield "## What and why"
    yield ""
    yield text(words.run["title"], 2_000)
    yield ""
    if understanding and understanding.rstrip(".") != words.run["title"].rstrip("."):
        yield text(understanding, 600)
        yield ""
    if done:
        yield from (f"- {text(row.removeprefix('- '), 600)}" for row in done[:MAX_STEPS])
        yield from [f"- and {len(done) - MAX_STEPS} more steps"] if len(done) > MAX_STEPS else []
        yield ""


def _changes(words: Words) -> Iterator[str]:
    yield "## Changes"
    yield ""
    if words.report["diff_problem"]:
        yield f"What the run changed is not known: {text(words.report['diff_problem'], 400)}"
        yield ""
    elif not words.report["diff"]:
        yield "No file was changed."
        yield ""
    else:
        yield from table(("file", "", "lines"), changed_rows(words))


def _proof(words: Words) -> Iterator[str]:
    yield "## Proof"
    yield ""
    if words.proof and not words.is_outdated:
        yield f"**{words.verdict}. Proof {words.proof}.**"
    else:
        yield f"**{words.verdict}.**"
    if words.state:
        yield f"**{words.state}**"
    if words.summary:
        yield text(words.summary, 600)
    yield ""
    if words.report["checks"]:
        yield from table(("check", "before → now", "from"), check_rows(words))
    tests = words.report["tests"]
    if tests and (tests["before"] or tests["after"]):
        yield f"Tests of the project, before: {tests['before'] or 'unknown'}; now: {tests['after'] or 'unknown'}."
        yield ""


def _not_verified(words: Words) -> Iterator[str]:
    report, tests = words.report, words.report["tests"]
    names = {step["id"]: step["name"] for step in words.steps}
    found = [f"no check could prove the step {names.get(step, step)}" for step in report["unproven_steps"]]
    if tests:
        found += [f"regressed: {name}" for name in tests["regressions"]]
        found += [f"no longer run: {name}" for name in tests["no_longer_run"]]
        found += tests["problems"]
    found += report["notes"]
    found += [f"open question: {question['text']}" for question in words.questions]
    yield "## Not verified"
    yield ""
    yield from (f"- {text(line, 400)}" for line in dict.fromkeys(found))
    yield "- what the checks above do not cover"
    yield ""


def _origin(words: Words) -> Iterator[str]:
    commits = words.report["commits"]
    made = (
        f", commit{'s' if len(commits) > 1 else ''} {', '.join(commit[:10] for commit in commits)}" if commits else ""
    )
    yield f"Made by Surefoot {words.report['version']}, run {code(words.run['id'])}{made}."
