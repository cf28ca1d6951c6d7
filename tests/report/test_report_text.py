"""In reports, text of models and tools stays text, and secrets stay out."""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from report.pages import TEMPLATE, Elements, unpacked
from report.stories import GITHUB, PASSWORD, SECRETS, Story
from surefoot.history.timeline import diff_of
from surefoot.journal import events as e
from surefoot.report import limits
from surefoot.report.build import build_report
from surefoot.report.html import as_html
from surefoot.report.markdown import as_markdown, table, text
from surefoot.report.write import render

Find = Callable[[str], Story]


@pytest.mark.attack("report")
@pytest.mark.req("X7")
def test_nothing_in_a_run_becomes_markup_of_the_page(story: Find) -> None:
    report = build_report(story("hostile").source)
    page = as_html(report, TEMPLATE)
    elements = Elements(page)
    assert {tag for tag, _ in elements.tags} <= {
        *("html", "head", "meta", "title", "body", "noscript", "template", "h1", "p"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert [tag for tag, given in elements.tags if given and tag not in ("meta", "template")] == []
    assert elements.open == []
    assert elements.comments == []
    # It is there, as text, and what turns text around is visible.
    assert "</template></noscript><script>alert(1)</script><!--" in elements.text
    assert not set("\u202e\u2066\u200b") & set(elements.text)
    assert "user<U+202E>txt.exe<U+2066> zero<U+200B>width" in elements.text
    assert unpacked(page) == json.loads(json.dumps(report))
    assert unpacked(page)["run"] == report["run"]


@pytest.mark.attack("report")
def test_nothing_in_a_run_becomes_markup_of_markdown(story: Find) -> None:
    paper = as_markdown(build_report(story("hostile").source))
    tokens = list(walk(MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(paper)))
    assert [t.type for t in tokens if t.type in ("link_open", "image", "html_inline")] == []
    assert {t.content.strip() for t in tokens if t.type == "html_block"} == {
        "<details><summary>Environment and what is left out</summary>",
        "</details>",
    }
    for row in rows(tokens):
        assert len(row) in (3, 5), row
    texts = "".join(t.content for t in tokens if t.type == "text")
    for word in ("@someone", "#1", "https://", "<b>", "\u202e", "\u200b"):
        assert word not in texts, "it may only be in code, where nobody is mentioned and nothing is linked"
    assert "\u202e" not in paper


def walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def rows(tokens: list[Token]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type in ("td_open", "th_open"):
            row.append("")
        elif token.type == "inline" and row:
            row[-1] = token.content
        elif token.type == "tr_close":
            yield row
            row = []


@pytest.mark.attack("report")
@pytest.mark.parametrize(
    "hostile",
    [
        *("a|b", "\\|", "`", "``` x", "a`", "*b*", "_b_", "~~x~~", "[a](b)", "![a](b)", "<b>", "&lt;", "1. a", "- a"),
        *("# a", "> a", "@you", "#12", "https://a.example", "www.a.example", "a@b.example", ":smile:", "$x$", "a  \nb"),
        *(
            "deadbeef1",
            "GH-12",
            "\u202eabc",
            "<!-- x",
            "</details>",
            "[^1]",
            "[x]: y",
            "***",
            "---",
            "===",
            "\\",
            "\x1b[31m",
        ),
    ],
)
def test_a_hostile_cell_stays_one_cell_of_text(hostile: str) -> None:
    paper = "\n".join(table(("a", "b"), [(text(hostile), "end")]))
    tokens = list(walk(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(paper)))
    head, row = rows(tokens)
    assert (len(head), len(row), row[-1]) == (2, 2, "end"), "a bar that ends the cell would push the others out"
    allowed = {"inline", "text", "code_inline"}
    found = {t.type for t in tokens if not re.match(r"table|t[hrd]_|t(head|body)_", t.type)}
    assert found <= allowed
    plain = "".join(t.content for t in tokens if t.type == "text")
    assert not re.search(r"@|#\d|://|www\.|:\w+:|\$|deadbeef|GH-", plain)


# -- secrets --------------------------------------------------------------------------------------------------------


@pytest.mark.attack("report")
@pytest.mark.req("X7")
def test_secrets_pass_into_no_format(story: Find) -> None:
    source = story("leaky").source
    assert all(secret in diff_of(source.records, source.home) for secret in SECRETS), "they are in what the run wrote"
    texts = [render(source, "md").decode(), render(source, "json").decode()]
    page = as_html(build_report(source), TEMPLATE)
    texts += [page, json.dumps(unpacked(page))]
    for shown in texts:
        assert [secret for secret in SECRETS if secret in html.unescape(shown)] == []
    report = build_report(source)
    patch = next(file["patch"] for file in report["diff"] if file["path"] == "made.ini")
    assert "password = [redacted]" in patch
    assert "token = [redacted github token]" in patch


def test_a_secret_at_the_cut_is_not_halved(story: Find) -> None:
    """Texts are shortened after secrets are removed: half of a secret would not be found."""
    cleaner = limits.Cleaner(story("leaky").source.redactor, limits.Omissions())
    for shift in range(len(PASSWORD)):
        long = "x" * (limits.LOG_END_CHARS - shift) + PASSWORD + "y" * (limits.LOG_END_CHARS * 2)
        cleaned = cleaner.text(long)
        assert not any(PASSWORD[i : i + 6] in cleaned for i in range(len(PASSWORD) - 6))


def test_names_of_the_run_s_own_files_that_look_like_tokens_stay(story: Find) -> None:
    source = story("healed").source
    changed = f"{GITHUB}/notes.txt"

    def renamed(record: e.Record) -> e.Record:
        if isinstance(record.event, e.ActionFinished) and record.event.changed:
            return e.Record(record.seq, record.at, record.event.with_(changed=(changed,)))
        return record

    report = build_report(replace(source, records=[renamed(record) for record in source.records]))
    actions: list[Any] = [row for row in report["rows"] if row["kind"] == "action"]
    assert [changed] in [row["changed"] for row in actions]
