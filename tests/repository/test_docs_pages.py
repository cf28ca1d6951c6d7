"""The pages for newcomers: their snippets run, their messages and sources exist, and both languages agree."""

import itertools
import json
import os
import re
import shlex
import tomllib
from pathlib import Path
from unittest import mock

import click
import pytest

from support.pages import DOCS, PAGES, ROOT, blocks, named, rows, snippets
from surefoot.cli.app import cli
from surefoot.config.sources import from_toml

SHELL = ("|", ">", "<", "&&", "||", ";")
"""Words that end a command."""


@mock.patch.dict(os.environ)  # --database and others are passed on in variables
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_line_and_config_is_valid(page: Path) -> None:
    for block in blocks(page, "sh", "bash"):
        for line in block.lines:
            words = shlex.split(line, comments=True)
            if words[:1] == ["surefoot"]:
                _parse(list(itertools.takewhile(lambda word: word not in SHELL, words[1:])))
    for block in blocks(page, "toml"):
        # A plan is TOML as well, and has other sections.
        assert block.text.startswith("[[step]]") or from_toml(Path("surefoot.toml"), block.text.encode())


def _parse(words: list[str]) -> None:
    command: click.Command = cli
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-"):
            return
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)


@pytest.mark.parametrize("page", ["migrating", "approvals", "testing"])
def test_the_programs_of_a_guide_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = snippets(f"guides/{page}.md", "python")
    assert code
    folder = tmp_path / "reader"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "state"))
    exec(compile("\n".join(code), f"{page}.md", "exec"), {"__name__": page})


def test_the_program_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another check, because the sandbox has no pytest of ours."""
    (code,) = snippets("README.md", "python")
    assert "pytest -q" in code
    code = code.replace("pytest -q", "grep -q json report.py")
    folder, script = tmp_path / "work", tmp_path / "script.json"
    folder.mkdir()
    (folder / "report.py").write_text("print('a report')\n")
    content = "import json\nprint(json.dumps('a report'))\n"
    understood = {
        "understanding": "report.py gets a flag --json",
        "requirements": ["report.py has a flag --json"],
        "files": ["report.py"],
        "task_type": "change_code",
        "complexity": "simple",
    }
    calls: list[list[object]] = [
        ["submit_understanding", understood],
        ["submit_plan", {"steps": [{"name": "Add the flag to report.py", "files": ["report.py"]}]}],
        ["write_file", {"path": "report.py", "content": content}],
        ["finish_step", {"summary": "added"}],
    ]
    script.write_text(json.dumps([{"calls": calls}]))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SUREFOOT_MODEL", f"scripted:{script}")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.startswith("verified ")


TWICE = pytest.mark.parametrize(
    ("english", "chinese"),
    [(ROOT / "README.md", ROOT / "README.zh.md"), (DOCS / "tutorial.md", DOCS / "zh/tutorial.md")],
    ids=["README", "tutorial"],
)


@TWICE
def test_both_languages_have_the_same_code_structure_and_links(english: Path, chinese: Path) -> None:
    code = [[(block.language, block.text) for block in blocks(page)] for page in (chinese, english)]
    assert code[0] == code[1]
    shapes = [
        (
            re.findall(r"^(#+) ", page.read_text("utf-8"), re.MULTILINE),
            [[cell.count("`") for cell in row] for row in rows(page.read_text("utf-8"))],
            sorted({(page.parent / link).resolve() for link in relative_links(page)} - {english, chinese}),
        )
        for page in (english, chinese)
    ]
    same = [str(path).replace("/zh/", "/") for path in shapes[1][2]]
    assert shapes[1][:2] == shapes[0][:2]
    assert same == [str(path) for path in shapes[0][2]]
    assert re.search("[一-鿿]", chinese.read_text("utf-8"))


@TWICE
def test_both_languages_have_the_same_figures(english: Path, chinese: Path) -> None:
    """Section by section, because a translation may change the order within one."""
    figures = [
        [sorted(re.findall(r"\d+(?:[.,]\d+)*", part)) for part in re.split(r"^#+ ", _prose(page), flags=re.MULTILINE)]
        for page in (english, chinese)
    ]
    titles = re.findall(r"^#+ (.*)$", _prose(english), re.MULTILINE)
    for title, wanted, found in zip(["", *titles], *figures, strict=True):
        assert found == wanted, f"the figures under {title!r} differ"


def _prose(page: Path) -> str:
    """Without code blocks and the targets of links. 亿 is 100 million, so 15 亿 is 1.5 billion."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"(\d+) ?亿", lambda found: f"{int(found[1]) / 10:g}", text)


def relative_links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    return [target for target in targets if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files(page: Path) -> None:
    for target in relative_links(page):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_nested_lists_are_nested_in_the_site_too(page: Path) -> None:
    """GitHub nests a list that is indented by two spaces; the site's Markdown needs four."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {1,3}(?:[-*]|\d+\.) .*$", text, re.MULTILINE) == []


def test_the_readme_fits_on_a_few_screens_and_shows_the_essential_first() -> None:
    for name in ("README.md", "README.zh.md"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        assert len(lines) <= 150
        first = "\n".join(lines[:30])
        for essential in (
            "docs/images/demo.svg",
            "pipx install .",
            "surefoot demo",
            "surefoot run",
            "Linux",
            "tutorial.md",
        ):
            assert essential in first, f"{essential} is not on the first screen of {name}"


def test_the_readme_names_every_extra_and_only_commands_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in ("README.md", "README.zh.md"):
        text = (ROOT / name).read_text("utf-8")
        table = [row for row in rows(text) if len(row) == 4 and row[0].startswith("`")]
        extras = {extra for row in table for cell in (row[0], row[2]) for extra in re.findall(r"`(\w+)`", cell)}
        assert extras == project["optional-dependencies"].keys()
        named = [cell for row in rows(text) if (cell := row[0]).startswith("`surefoot ")]
        words = {word for cell in named for code in re.findall(r"`(?:surefoot )?([a-z]+)", cell) for word in [code]}
        assert len(words) > 20
        assert words <= cli.commands.keys()


def source() -> str:
    """The texts of the program, with adjacent literals joined."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    return re.sub(r"\"\s*\n\s*f?\"", "", text)


def test_troubleshooting_quotes_messages_that_exist_and_knows_every_error() -> None:
    text, program = (DOCS / "troubleshooting.md").read_text("utf-8"), source()
    quoted = [row[0].strip("`") for row in rows(text) if row[0].startswith("`")]
    assert len(quoted) > 50
    for message in quoted:
        for piece in message.split("..."):
            assert len(piece.strip(" :[]")) < 4 or piece.strip() in program, (
                f"{piece!r} of {message!r} is in no message"
            )
    classes = set(re.findall(r"^class (\w+)\(", (ROOT / "src/surefoot/errors.py").read_text(), re.MULTILINE))
    named = {row[3].strip("`") for row in rows(text) if len(row) == 4}
    bases = {"JournalError", "ToolError"}
    assert classes - bases <= named
    assert {name for name in named if name[:1].isupper()} <= classes


def test_every_entry_about_another_tool_has_a_source() -> None:
    table = rows((DOCS / "comparison.md").read_text("utf-8"))
    assert table[0][1:] == ["Surefoot", "aider", "Codex CLI", "Claude Code", "OpenHands", "mini-swe-agent", "LangGraph"]
    assert len(table) > 12
    for row in table[2:]:
        for cell in row[2:]:
            assert "](https://" in cell or cell in ("unknown", "as you build it", "not for editors"), (row[0], cell)
    for name in ("README.md", "README.zh.md"):
        readme = (ROOT / name).read_text("utf-8")
        # Facts about other tools are only where their sources are.
        assert "](docs/comparison.md)" in readme
        assert not [tool for tool in table[0][2:] if tool in readme and tool != "LangGraph"]


def test_the_reference_is_made_from_all_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "tooling"))
    import reference  # type: ignore[import-not-found]

    from surefoot.config.fields import known_fields
    from surefoot.journal.events import KINDS

    pages = reference.pages()
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(f": {uri}\n" in nav for uri in pages)
    for name, command in cli.commands.items():
        assert command.hidden or f"## surefoot {name}\n" in pages["reference/commands.md"]
    assert all(f"| `{name}` |" in pages["reference/settings.md"] for name, _ in known_fields())
    assert all(f"## {kind}\n" in pages["reference/event-types.md"] for kind in KINDS.values())
    assert "::: surefoot.api.Agent\n" in pages["reference/api.md"]
    assert "| `NoModel` | `ModelError` |" in pages["reference/errors.md"]
