"""`surefoot edit` on a terminal, with a script as the editor."""

import sys
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.stories import slow_script
from surefoot.journal.messages import ControlMessage
from surefoot.journal.store.sqlite import SqliteJournal


def editor(surefoot: Surefoot, *replacements: tuple[str, str]) -> str:
    """An editor command that makes the next of the replacements each time it is opened."""
    path: Path = surefoot.home / "editor.py"
    path.write_text(
        "import pathlib, sys\n"
        f"counter = pathlib.Path({str(surefoot.home / 'opened')!r})\n"
        "count = len(counter.read_text()) if counter.exists() else 0\n"
        f"old, new = {list(replacements)!r}[count]\n"
        "counter.write_text('x' * (count + 1))\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "file.write_text(file.read_text().replace(old, new))\n"
    )
    return f"{sys.executable} {path}"


@pytest.mark.req("A8", "A6")
def test_an_error_in_the_edited_plan_is_reported_and_can_be_corrected(surefoot: Surefoot) -> None:
    surefoot(*slow_script(surefoot), "--until-phase", "planning")
    surefoot.environ["EDITOR"] = editor(
        surefoot, ("after = []", 'after = ["nowhere"]'), ("nowhere", "s1"), ('after = ["s1"]', 'when = "1 < 2"')
    )
    assert "no terminal" in surefoot("edit").err
    terminal = surefoot.on_terminal("edit", "--why", "other words")
    terminal.wait_for("which is not in the plan")
    terminal.type("y\n")
    terminal.wait_for("in a cycle: s1 -> s1")
    terminal.type("y\n")
    terminal.wait_for("~ s1")
    assert terminal.end() == 0
    journal = SqliteJournal(surefoot.journal_file)
    (message,) = journal.receive(journal.find("last"))
    journal.close()
    assert isinstance(message.body, ControlMessage)
    assert message.body.why == "other words"
    assert 'when = "1 < 2"' in message.body.plan


@pytest.mark.req("A8")
def test_closing_the_editor_without_saving_changes_nothing(surefoot: Surefoot) -> None:
    surefoot(*slow_script(surefoot), "--until-phase", "planning")
    surefoot.environ["EDITOR"] = "true"
    terminal = surefoot.on_terminal("edit")
    terminal.wait_for("nothing was changed")
    assert terminal.end() == 0
