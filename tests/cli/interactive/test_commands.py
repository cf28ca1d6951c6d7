"""The parts of a session that need no terminal: completion, the toolbar, suggestions, the guide."""

from pathlib import Path

import click
import pytest

from surefoot.cli.app import cli, report_error
from surefoot.cli.interactive.commands import COMMANDS, Quit, dispatch
from surefoot.cli.interactive.history import MAX_LINES, StoredLines
from surefoot.cli.interactive.opening import carry_out
from surefoot.cli.interactive.prompt import completions, toolbar
from surefoot.cli.interactive.session import Session
from surefoot.cli.report.usage import RunUsage
from surefoot.errors import UsageError

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "interactive.md"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    assert isinstance(cli, click.Group)
    return Session(cli, report_error, tmp_path, found_checks=("pytest -q",))


def test_commands_and_their_arguments_are_completed(session: Session) -> None:
    assert [word for word, _ in completions(session, "/c")] == ["/commit", "/continue", "/check", "/cost"]
    assert [word for word, _ in completions(session, "/check p")] == ["pytest -q"]
    assert "ollama/" in [word for word, _ in completions(session, "/model o")]
    assert completions(session, "fix the /c") == []


def test_a_name_is_completed_if_it_is_clear_and_else_suggested(session: Session) -> None:
    dispatch(session, "/chec make test")
    assert session.checks == ["make test"]
    dispatch(session, "/check clear")
    assert session.checks == []
    for line, remedy in (("/dfif", "did you mean /diff?"), ("/xyzzy", "/help"), ("/", "/help")):
        with pytest.raises(UsageError) as caught:
            dispatch(session, line)
        assert remedy in caught.value.remedy
    with pytest.raises(UsageError, match="several commands begin with /c: /commit, /continue, /check, /cost"):
        dispatch(session, "/c")


@pytest.mark.parametrize("line", ["exit", "quit ", "/quit"])
def test_words_that_end_most_programs_are_no_tasks(session: Session, line: str) -> None:
    with pytest.raises(Quit):
        carry_out(session, line)


def test_help_is_no_task(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    carry_out(session, "help")
    assert "/undo" in capsys.readouterr().out


def test_commands_about_a_run_need_one(session: Session) -> None:
    for name in ("diff", "review", "commit", "undo", "show", "plan", "go", "resume"):
        with pytest.raises(UsageError) as caught:
            dispatch(session, f"/{name}")
        assert "/continue" in caught.value.remedy


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_toolbar_fits_the_terminal(session: Session, columns: int) -> None:
    session.folder = Path("/a/very/long/path/" * 8)
    session.model_name = "anthropic/claude-of-the-longest-possible-name"
    session.usage = {"r": RunUsage(1_000_000, 0, 200_000, 7, 12.5, 0)}
    text = toolbar(session, columns)
    assert len(text) <= columns
    assert "1,200,000 tokens" in text
    assert "$12.50" in text


def test_the_history_is_cut_when_it_is_long(tmp_path: Path) -> None:
    lines = StoredLines(tmp_path)
    assert lines.load() == []
    lines.path.write_text("".join(f'"line {number}"\n' for number in range(2 * MAX_LINES + 1)) + "damaged\n")
    loaded = lines.load()
    assert loaded[-1] == f"line {2 * MAX_LINES}"
    assert len(lines.path.read_text().splitlines()) == MAX_LINES
    lines.append("two\nlines")
    assert lines.load()[-1] == "two\nlines"


def test_the_guide_lists_the_commands() -> None:
    text = GUIDE.read_text()
    for command in COMMANDS:
        title = f"/{command.name} {command.argument}".strip().replace("|", "\\|")
        assert f"| `{title}` | {command.help} |" in text
