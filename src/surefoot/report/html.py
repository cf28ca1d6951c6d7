"""A report as one HTML page: the built template with the document in it, and tables for readers without JavaScript."""

import base64
import gzip
import html
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import surefoot
from surefoot.errors import SurefootError
from surefoot.journal.redact import neutralise
from surefoot.report.document import Report
from surefoot.report.words import ReportTexts, check_flow, cost, failing_outputs, rung, step_flow, step_seconds, tokens
from surefoot.view.figures import duration

TEMPLATE = Path(surefoot.__file__).parent / "server" / "static" / "report.html"
_DATA = "<!--surefoot:data-->"
_NOSCRIPT = "<!--surefoot:noscript-->"
_TITLE = "<title>Surefoot</title>"
MAX_ROWS = 1_000
MAX_TEXT = 4_000


def as_html(report: Report, template: str) -> str:
    """Render the page. It needs no network, and its security policy allows only its own script and style."""
    packed = gzip.compress(json.dumps(report, ensure_ascii=False).encode("utf-8", "replace"), 9, mtime=0)
    filled = {
        _DATA: base64.encodebytes(packed).decode("ascii"),
        _NOSCRIPT: "\n".join(noscript(report)),
        _TITLE: f"<title>{_escape(ReportTexts(report).run['title'], 200)} · Surefoot</title>",
    }
    for mark, content in filled.items():
        before, separator, after = template.partition(mark)
        if not separator or mark in after:
            raise SurefootError(
                "the template of the report is damaged", remedy="build it again: make web; or reinstall surefoot"
            )
        template = before + content + after
    return template


def load_template(path: Path = TEMPLATE) -> str:
    """The built template. Raises SurefootError if it is not part of this installation."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise SurefootError(
            "the page of the report is not part of this installation",
            remedy="in a clone: make web, then install it again, as you did before; or use --format md or json",
        ) from error


# -- without JavaScript ---------------------------------------------------------------------------------------------


def noscript(report: Report) -> Iterator[str]:
    """Outcome, steps, proofs and diagnosis as plain tables. Every text is escaped."""
    texts = ReportTexts(report)
    run = texts.run
    yield f"<h1>{_escape(texts.verdict)} – {_escape(run['title'], 200)}</h1>"
    yield from (f"<p>{_escape(line)}</p>" for line in (texts.state, texts.summary) if line)
    facts = [
        ("Proof", texts.proof),
        ("Spent", texts.spent),
        ("Failed attempts", texts.lost),
        ("Task", run["task"]),
        ("Run", run["id"]),
        ("Pushed", ", ".join(texts.pushed)),
        ("Model", ", ".join(report["environment"]["model"])),
        ("Surefoot", ", ".join(report["environment"]["surefoot"])),
    ]
    yield from _table(("Outcome", ""), [fact for fact in facts if fact[1]])
    yield from (f"<p>{_escape(note)}</p>" for note in report["notes"])
    yield from (f"<p>Open question: {_escape(question['text'])}</p>" for question in texts.questions)
    if diagnosis := texts.diagnosis:
        lists = [("Tried", diagnosis["tried"]), ("Left behind", diagnosis["left_behind"])]
        lists += [("Left outside", diagnosis["left_outside"]), ("Next", diagnosis["next_steps"])]
        rows = [("What failed", diagnosis["what_failed"]), ("Root cause", diagnosis["root_cause"])]
        rows += [(title, item) for title, items in lists for item in items]
        yield from _table(("Diagnosis", ""), [*rows, ("Evidence", diagnosis["evidence"])])
    outputs = failing_outputs(report["checks"])
    yield from _table(
        ("Check", "Before → now", "From", "Output"),
        [(c["label"], check_flow(c), c["origin"], text) for c, text in zip(report["checks"], outputs, strict=True)],
    )
    yield from _table(
        ("Step", "State", "Checks", "Time", "Reason"),
        [
            (f"{number}. {step['name']}", texts.step_state(step), step_flow(step), step_seconds(step), step["reason"])
            for number, step in enumerate(texts.steps, 1)
        ],
    )
    yield from _table(
        ("Failed attempt", "Cause", "Then", "Time", "Tokens", "Cost"),
        [
            (
                f"{each['name']}, attempt {each['attempt']}",
                each["root_cause"] or each["message"],
                rung(each),
                duration(each["seconds"]),
                tokens(each["tokens"]) if each["calls"] else "",
                cost(each["cost_usd"]) if each["calls"] else "",
            )
            for each in report["recoveries"]
        ],
    )
    yield from _table(("Changed file", ""), [(file["path"], file["status"]) for file in report["diff"]])
    yield from (f"<p>Left out of this report: {_escape(line)}</p>" for line in texts.left_out())
    yield f"<p>Written by Surefoot {_escape(report['version'])} on {texts.written}. "
    yield "With JavaScript, this page also shows the plan, the differences, the outputs and the conversation.</p>"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = list(rows)
    if not listed:
        return
    yield f"<table><thead><tr>{''.join(f'<th>{_escape(title)}</th>' for title in titles)}</tr></thead><tbody>"
    yield from (f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in listed[:MAX_ROWS])
    yield "</tbody></table>"
    if len(listed) > MAX_ROWS:
        yield f"<p>{len(listed) - MAX_ROWS:,} more rows need JavaScript.</p>"


def _escape(text: str, limit: int = MAX_TEXT) -> str:
    cut = text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} characters more)"
    return html.escape(neutralise(cut))
