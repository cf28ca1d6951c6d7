"""While a model writes a call, the views tell which one, before it is complete."""

import io
import json

import pytest

from support.kit import Bench
from support.recorded import first_step, phases, records
from support.talk import submit
from support.wire import Call, Said, client_for, scripted
from surefoot.cli.report.symbols import ASCII
from surefoot.cli.session.watching import subscribe
from surefoot.cli.views.follower import Follower
from surefoot.cli.views.frame import Viewport, frame
from surefoot.cli.views.jsonl import JsonLines
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.prompting.conversation.writing import CallsInProgress


@pytest.mark.req("X11", "O9")
@pytest.mark.parametrize("form", ["chat", "responses", "messages"])
async def test_json_lines_tell_which_call_is_being_written(bench: Bench, form: str) -> None:
    bench.write(calc__py="x = 1\n")
    plan = Said(calls=tuple(Call(*call) for call in submit(understanding="Set x to 2 in calc.py.")))
    edit = Said(calls=(Call("edit_file", {"path": "calc.py", "search": "x = 1", "replace": "x = 2"}),))
    finish = Said(calls=(Call("finish_step", {"summary": "done"}),))
    out = io.StringIO()
    async with scripted(plan, edit, finish, form=form) as server:
        services = Services(bench.journal, client_for(form, server), bench.home)
        subscribe(services.bus, JsonLines(out))
        await start_run(services, bench.task("Set x to 2 in calc.py.", ["grep -q 'x = 2' calc.py"]), bench.config())
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    at = [number for number, line in enumerate(lines) if line.get("tool") == "edit_file"]
    named, complete, started = (lines[number] for number in at[:3])
    assert named == {"type": "writing", "tool": "edit_file", "subject": ""}
    assert complete == {"type": "writing", "tool": "edit_file", "subject": "calc.py"}
    assert started["type"] == "action_started"


def test_the_live_view_shows_it() -> None:
    follower = Follower()
    follower.replay(records([*phases(), *first_step()[:2]]))
    follower.on_call("edit_file", "src/a.py")
    lines = [line.plain for line in frame(follower, ASCII, Viewport(80, 30))]
    assert any(line.endswith("writing edit_file src/a.py") for line in lines), lines


def test_the_live_view_waits_for_the_model_when_the_call_is_written() -> None:
    """In the survey nothing is recorded between one answer and the next."""
    answered = e.ModelAnswered(purpose="survey", prompt="p", answer="a")
    *before, last = records([*phases()[:1], answered])
    follower = Follower()
    follower.replay(before)
    follower.on_call("search", "stop")
    assert follower.activity == "writing search stop"
    follower.on_record(last)
    assert follower.activity == "waiting for the model"


def test_pieces_are_put_together_and_each_call_is_told_twice_at_most() -> None:
    reported: list[tuple[str, str]] = []
    calls = CallsInProgress(lambda tool, subject: reported.append((tool, subject)))
    for piece in ("", '{"content": "the \\"path\\": is', ' here", "pa', 'th": "a/', 'ü\\n.py"', ', "x": "y"}'):
        calls.feed(0, "write_file" if not reported else "", piece)
    calls.feed(1, "list_files", "{}")
    assert reported == [("write_file", ""), ("write_file", "a/ü\n.py"), ("list_files", "")]
