"""A secret that a command prints leaves Surefoot by no door, and names that look like tokens pass them unchanged.

The doors are listed in docs/security.md.
"""

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.kit import act, done, fenced, understanding

pytestmark = pytest.mark.slow

GITHUB = "ghp_" + "a1B2c3D4e5" * 4
PASSWORD = "correct-horse-battery-9Xq"
MULTILINE = "two lines\nof-a-passphrase-77"
SECRETS = (GITHUB, PASSWORD, "of-a-passphrase-77")
SHOW = [
    *(["show"], ["show", "--json"], ["show", "--events"], ["show", "--events", "--json"], ["show", "--answers"]),
    *(
        ["show", "--answers", "--json"],
        ["show", "--decisions"],
        ["show", "--decisions", "--json"],
        ["show", "--proofs"],
    ),
    *(["show", "--proofs", "--json"], ["list"], ["list", "--json"], ["diff"]),
    *(["report", "-o", "-", "--format", "md"], ["report", "-o", "-", "--format", "json"]),
]


@pytest.fixture
def leaky(surefoot: Surefoot) -> Surefoot:
    """A workspace with secrets in a file, which commands print."""
    surefoot.environ |= {"SERVICE_PASSWORD": PASSWORD, "SIGNING_PASSPHRASE": MULTILINE}
    (surefoot.workspace / "settings.ini").write_text(f"password = {PASSWORD}\ntoken = {GITHUB}\n{MULTILINE}\n")
    return surefoot


def arguments(surefoot: Surefoot, *more: str) -> list[str]:
    """A run in which the output of a command, of a failing command and of a check contains the secrets."""
    words = {**understanding(), "task_type": "shell"}
    script = surefoot.script(
        words,
        act("run_command", command="cat settings.ini; cat settings.ini >&2; exit 3"),
        act("run_command", command='base=$(cat settings.ini); echo "$base"; echo done > done.txt'),
        done(),
    )
    check = "cat settings.ini; grep -qx done done.txt"
    return ["run", "Print the settings and be done.", "-m", script, "--check", check, *more]


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def journal_content(surefoot: Surefoot) -> str:
    """Everything in the journal: rows, and content unpacked."""
    database = sqlite3.connect(surefoot.journal_file)
    found: list[bytes] = []
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in database.execute(f"SELECT * FROM {table}"):
            found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
            if table == "blobs" and "zlib" in row:
                found += [zlib.decompress(value) for value in row if isinstance(value, bytes) and len(value) > 32]
    database.close()
    found += [path.read_bytes() for path in surefoot.state.glob("journal*/**/*") if path.is_file()]
    found += [path.read_bytes() for path in (surefoot.state / "logs").rglob("*") if path.is_file()]
    return b"\n".join(found).decode(errors="replace")


@pytest.mark.parametrize("view", [["--json"], ["--plain"], ["--plain", "--verbose"]])
@pytest.mark.attack("leak by output")
def test_secrets_that_commands_print_pass_no_door(leaky: Surefoot, view: list[str]) -> None:
    result = leaky(*arguments(leaky, *view))
    assert result.code in (0, 3), result.err
    assert leaks(result.out + result.err) == []
    assert "[redacted" in result.out + result.err or view == ["--plain"]
    for door in SHOW:
        shown = leaky(*door)
        assert shown.code == 0, shown.err
        assert leaks(shown.out + shown.err) == [], door
    assert "[redacted github token]" in leaky("show", "--answers").out, "the prompt shows the output of the command"
    picture = leaky.home / "run.svg"
    assert leaky("show", "--svg", str(picture)).code == 0
    assert leaks(picture.read_text()) == []
    content = journal_content(leaky)
    assert leaks(content) == []
    assert "[redacted github token]" in content


@pytest.mark.attack("leak by output")
def test_secrets_that_commands_print_are_not_in_the_live_view(leaky: Surefoot) -> None:
    terminal = leaky.on_terminal(*arguments(leaky, "--live"), columns=200, rows=50)
    assert terminal.end() in (0, 3)
    assert "done.txt" in terminal.output
    assert leaks(terminal.output) == []


@pytest.mark.attack("leak by output")
def test_secrets_are_not_in_error_messages(leaky: Surefoot) -> None:
    for debug in ("0", "1"):
        leaky.environ["SUREFOOT_DEBUG"] = debug
        result = leaky("run", f"Log in with {PASSWORD}.", "-m", leaky.script())
        assert result.code == 2
        assert "the task contains the value of SERVICE_PASSWORD" in result.err
        assert leaks(result.out + result.err) == []
        missing = leaky("show", PASSWORD)
        assert missing.code != 0
        assert leaks(missing.out + missing.err) == []


def test_answer_with_a_secret_in_it_is_refused(leaky: Surefoot) -> None:
    words = {**understanding("done.txt"), "questions": ["Which password is it?"]}
    waiting = leaky("run", "Make something nice.", "-m", leaky.script(words, words, words), "--confirm")
    assert waiting.code == 4, waiting.err
    refused = leaky("answer", "--answer", f"it is {PASSWORD}")
    assert refused.code == 2
    assert "the answer contains the value of SERVICE_PASSWORD" in refused.err
    assert leaks(journal_content(leaky) + refused.err) == []


@pytest.mark.parametrize("name", [GITHUB, "sk-proj-Ab3dEfGh1jKlMn0pQrStUvWxYz0123456789", "postgres"])
def test_commands_work_where_paths_look_like_tokens(surefoot: Surefoot, name: str) -> None:
    """At default settings, in a workspace with such a name: run, show, diff, undo."""
    surefoot.environ["POSTGRES_PASSWORD"] = "postgres"
    workspace = surefoot.workspace / name
    (workspace / name).mkdir(parents=True)
    (workspace / name / "old.txt").write_text("old postgres\n")
    surefoot.workspace = workspace
    script = surefoot.script(understanding(f"{name}/new.txt"), fenced("new\n", ""))
    check = f"grep -qx new {name}/new.txt"
    result = surefoot("run", f"Make {name}/new.txt", "-m", script, "--check", check, "--json")
    assert result.code == 0, result.err + result.out[-2000:]
    outcome = result.objects[-1]
    assert outcome["generated_files"] == [f"{name}/new.txt"]
    assert outcome["checks"][0]["check"]["command"] == check
    assert result.objects[0]["task"]["workspace"] == str(workspace)
    assert "[redacted" not in result.out
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["task"] == result.objects[0]["task"]
    assert f"{name}/new.txt" in surefoot("show").out
    assert f"+++ b/{name}/new.txt" in surefoot("diff").out
    undone = surefoot("undo", "last", "-y")
    assert undone.code == 0, undone.err
    assert [path.relative_to(workspace).as_posix() for path in files(workspace)] == [f"{name}/old.txt"]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
