"""A report in Markdown, to be pasted into a pull request.

Text of models and tools is shown as plain text: anything that could be markup, a link or a mention becomes code.
"""

import re
from collections.abc import Iterable, Iterator

from surefoot.journal.redact import neutralise
from surefoot.report.document import Report
from surefoot.report.words import ReportTexts, check_flow, cost, rung, step_flow, step_seconds, tokens
from surefoot.view.figures import count, duration
from surefoot.view.patches import changed_lines

MAX_CELL = 160
MAX_ROWS = 100
OUTPUT_LINES = 20
_PLAIN = re.compile(r"(?:\w|[ .,;:'\"()%+=/→×–—?!*~\[\]-])*", re.UNICODE)
"""Text that has no meaning in Markdown once a few characters are escaped."""
_MEANING = re.compile(r"://|www\.|:\w+:|\b(?=\w*\d)[0-9a-f]{7,40}\b|\bGH-\d|\((?:c|r|tm|p)\)|^\d+[.)]", re.IGNORECASE)
"""Text that looks plain but becomes a link, a reference or a symbol."""


def as_markdown(report: Report) -> str:
    texts = ReportTexts(report)
    parts: list[Iterable[str]] = [
        _head(texts),
        _diagnosis(texts),
        _checks(texts),
        _steps(texts),
        _recoveries(texts),
        _revisions(texts),
        _files(texts),
        _facts(texts),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def text(value: str, limit: int = MAX_CELL) -> str:
    """Any text as one line: plain where it is harmless, else code."""
    flat = " ".join(neutralise(value).split())
    flat = flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
    plain = flat.removesuffix("…")
    if _PLAIN.fullmatch(plain) and not _MEANING.search(plain):
        return re.sub(r"[_*~\[\]]|^[-+=]", r"\\\g<0>", flat)
    return code(flat)


def code(value: str) -> str:
    """A code span. Its fence is longer than any in the text."""
    flat = " ".join(neutralise(value).split()) or " "
    fence = "`" * (max(map(len, re.findall("`+", flat)), default=0) + 1)
    space = " " if flat[0] == "`" or flat[-1] == "`" else ""
    return f"{fence}{space}{flat}{space}{fence}"


def block(value: str, lines: int = OUTPUT_LINES) -> Iterator[str]:
    """A code block with the last lines of an output."""
    rows = neutralise(value).rstrip("\n").split("\n")
    fence = "`" * max(3, max(map(len, re.findall("`+", value)), default=0) + 1)
    yield f"{fence}text"
    if len(rows) > lines:
        yield f"[... {count(len(rows) - lines, 'line')} left out ...]"
    yield from (row[:400] for row in rows[-lines:])
    yield fence


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = list(rows)
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in listed[:MAX_ROWS])
    if len(listed) > MAX_ROWS:
        yield ""
        yield f"{len(listed) - MAX_ROWS:,} more are in the HTML and JSON reports."
    yield ""


def _cell(value: str) -> str:
    """Escape `|`, which would end the cell. Behind a backslash it cannot be escaped, so a broken bar is shown there."""
    return re.sub(r"(?<=\\)\|", "¦", value).replace("|", "\\|")


def _head(texts: ReportTexts) -> Iterator[str]:
    yield f"### {texts.verdict} – {text(texts.run['title'])}"
    yield ""
    if texts.state:
        yield f"**{texts.state}**"
    if texts.proof:
        yield f"**{'Before that: proof' if texts.is_outdated else 'Proof'} {texts.proof}.**"
    if texts.summary:
        yield text(texts.summary, 600)
    yield ""
    yield f"Spent: {texts.spent}."
    if texts.lost:
        yield f"Of that on {texts.lost}."
    yield ""
    listed = [f"- Note: {text(note, 400)}" for note in texts.report["notes"]]
    listed += [f"- Open question: {text(question['text'], 600)}" for question in texts.questions]
    yield from [*listed, ""] if listed else []


def _diagnosis(texts: ReportTexts) -> Iterator[str]:
    diagnosis = texts.diagnosis
    if diagnosis is None:
        return
    yield "#### Diagnosis"
    yield ""
    yield f"- What failed: {text(diagnosis['what_failed'], 600)}"
    if diagnosis["root_cause"] and diagnosis["root_cause"] != diagnosis["what_failed"]:
        yield f"- Root cause: {text(diagnosis['root_cause'], 600)}"
    for title, items in (
        ("Tried", diagnosis["tried"]),
        ("Left in the workspace", diagnosis["left_behind"] or ["nothing: no changes remain"]),
        ("Left outside the workspace", diagnosis["left_outside"]),
        ("Next", diagnosis["next_steps"]),
    ):
        yield from (f"- {title}: {text(item, 400)}" for item in items)
    yield ""
    if diagnosis["evidence"]:
        yield from block(diagnosis["evidence"])
        yield ""


def _checks(texts: ReportTexts) -> Iterator[str]:
    checks = texts.report["checks"]
    if checks:
        yield "#### Checks"
        yield ""
        yield from table(("check", "before → now", "from"), check_rows(texts))
    outputs: dict[str, list[str]] = {}
    for check in checks:
        if check["now"] == "red" and check["detail"]:
            outputs.setdefault(check["detail"], []).append(code(check["label"][:300]))
    if outputs:
        for detail, labels in outputs.items():
            yield f"{' and '.join(labels)} {'fails' if len(labels) == 1 else 'fail'}:"
            yield ""
            yield from block(detail)
            yield ""
    tests = texts.report["tests"]
    if tests and (tests["before"] or tests["after"]):
        yield f"Tests of the project, before: {tests['before'] or 'unknown'}; now: {tests['after'] or 'unknown'}."
        yield ""
    if tests:
        titles = {"regressions": "Regressed", "no_longer_run": "No longer run", "altered": "Altered"}
        listed = [f"- {title}: {text(name, 300)}" for key, title in titles.items() for name in tests[key]]  # type: ignore[literal-required]
        listed += [f"- Own test: {text(name, 300)}" for name in tests["own_tests"]]
        listed += [f"- {text(problem, 300)}" for problem in tests["problems"]]
        yield from [*listed, ""] if listed else []


def _steps(texts: ReportTexts) -> Iterator[str]:
    if not texts.steps:
        return
    yield "#### Steps"
    yield ""
    rows = (
        (str(number), text(step["name"]), texts.step_state(step), step_flow(step), step_seconds(step))
        for number, step in enumerate(texts.steps, 1)
    )
    yield from table(("", "step", "state", "checks", "time"), rows)


def _recoveries(texts: ReportTexts) -> Iterator[str]:
    if not texts.report["recoveries"]:
        return
    yield "#### Recoveries"
    yield ""
    rows = (
        (
            f"{text(each['name'], 60)}, attempt {each['attempt']}",
            text(each["root_cause"] or each["message"]),
            f"{rung(each)}{'; recovered' if each['healed'] else ''}",
            ", ".join([duration(each["seconds"]), *([tokens(each["tokens"])] if each["calls"] else [])]),
            cost(each["cost_usd"]) if each["calls"] else "",
        )
        for each in texts.report["recoveries"]
    )
    yield from table(("failed", "cause", "then", "used", "cost"), rows)


def _revisions(texts: ReportTexts) -> Iterator[str]:
    if not texts.revisions:
        return
    yield "#### Changes of the plan"
    yield ""
    for each in texts.revisions:
        counts = f"+{len(each['added'])} ~{len(each['changed'])} −{len(each['removed'])}"
        yield f"- r{each['number']} by {text(each['by'])} ({counts}): {text(each['reason'], 300)}"
    yield ""


def _files(texts: ReportTexts) -> Iterator[str]:
    files, problem = texts.report["diff"], texts.report["diff_problem"]
    if problem:
        yield f"What the run changed is not known: {text(problem, 400)}"
        yield ""
    if not files:
        return
    yield "#### Files"
    yield ""
    yield from table(("file", "", "lines"), changed_rows(texts))


def check_rows(texts: ReportTexts) -> Iterator[tuple[str, ...]]:
    """The final checks, for a table."""
    for check in texts.report["checks"]:
        yield code(check["label"][:300]), check_flow(check), text(check["origin"])


def changed_rows(texts: ReportTexts) -> Iterator[tuple[str, ...]]:
    """The changed files, for a table."""
    for file in texts.report["diff"]:
        added, removed = changed_lines(file)
        yield code(file["path"][:300]), file["status"], "binary" if file["binary"] else f"+{added} −{removed}"


def _facts(texts: ReportTexts) -> Iterator[str]:
    report, run = texts.report, texts.run
    where = report["environment"]
    facts = [
        ("Run", [run["id"]]),
        ("Branch", [report["branch"]] if report["branch"] else []),
        ("Commits", [commit[:10] for commit in report["commits"]]),
        ("Pushed", texts.pushed),
        ("Model", where["model"]),
        ("Surefoot", where["surefoot"]),
        ("System", where["system"]),
        ("Sandbox of commands", where["sandbox"] or ["none"]),
        ("Settings", [f"{name} = {value}" for name, value in where["settings"].items()]),
    ]
    yield "<details><summary>Environment and what is left out</summary>"
    yield ""
    yield from (f"- {title}: {', '.join(code(value[:300]) for value in values)}" for title, values in facts if values)
    yield from (f"- Left out of this report: {line}" for line in texts.left_out())
    yield "- Outputs, differences and the conversation are in the HTML and JSON reports."
    yield ""
    yield "</details>"
    yield ""
    yield f"Written by Surefoot {report['version']} on {texts.written}."
