"""Plain lines and JSON lines, the output for pipes."""

import io
import json

import pytest

from support import recorded
from surefoot.cli.report.symbols import ASCII, UNICODE
from surefoot.cli.views.jsonl import JsonLines, outcome_object
from surefoot.cli.views.plain import PlainLines
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e
from surefoot.journal.reducers import fold


def plain(records: list[e.Record], *, verbose: bool = False) -> list[str]:
    stream = io.StringIO()
    watcher = PlainLines(stream, UNICODE, verbose=verbose, isolation="sandbox bubblewrap")
    for record in records:
        watcher.on_record(record)
    return stream.getvalue().splitlines()


@pytest.mark.req("O9")
def test_the_lines_of_a_whole_run() -> None:
    lines = plain(recorded.whole_run())
    expected = [
        "[ 0:00] run 20261115-2044-swift-otter: add a --json flag to report.py",
        "        model qwen2.5-coder, workspace /srv/projects/report",
        "        sandbox bubblewrap",
        "[ 0:04] ✓ understanding: The report script needs a flag that prints its result as JSON.",
        "[ 0:07] – approach skipped: the task is simple",
        "[ 0:13] ✗ planning: refused by the gate (confidence 0.60)",
        "          no step writes report.py",
        "[ 0:18] ✓ plan: 3 steps",
        "[ 0:28] ● step 2/3 Write report.py",
        "          python -m pytest -q failed",
        "[ 0:42] ↳ retry, adjusted (retry 1 of 3): rows are counted before the filter",
        "[ 0:48] ● step 2/3 Write report.py (attempt 2)",
        "[ 0:57] ✓ step 2/3 Write report.py: done in 7.4s",
        "[ 1:07] ✓ validation: 1 check passes",
    ]
    assert [line for line in lines if line in expected] == expected


def test_verbose_adds_reasoning_and_model_calls() -> None:
    quiet, verbose = plain(recorded.whole_run()), plain(recorded.whole_run(), verbose=True)
    assert set(quiet) < set(verbose)
    assert any("thinks: The spec says what the flag prints." in line for line in verbose)
    assert any("1,200 tokens in, 180 out" in line for line in verbose)
    assert any(f"surefoot show {recorded.RUN_ID} --answers" in line for line in verbose)


def test_control_characters_in_events_do_not_reach_the_terminal() -> None:
    evil = "a\x1b[2Jb\r\nc\x07"
    events: list[e.Event] = [
        e.Warned(message=evil),
        e.QuestionAsked(question_id="q", kind="clarification", text=evil),
        e.QuestionAnswered(question_id="q", answer=evil, by=evil),
        e.ControlReceived(command="skip", step_id="s0", by=evil, why=evil),
        e.RunInterrupted(reason=evil),
        e.ModelAnswered(purpose="act", prompt="p", answer="a", unreadable=evil),
        e.PlanRevised(by="model", reason=evil, removed=("s2",)),
        e.ActionRefused(step_id="s0", tool="x", arguments={"command": evil}, reason=evil),
        e.RolledBack(step_id="s0", snapshot="s", paths=(evil,)),
    ]
    records = recorded.records([*recorded.phases(), *events])
    lines = plain(records, verbose=True)
    assert not [line for line in lines if any(character < " " for character in line)]
    assert sum("b c" in line for line in lines) == 8
    asked = next(at for at, line in enumerate(lines) if "? a" in line)
    assert lines[asked + 1].strip() == "c␇", "a question keeps its lines"


def test_lines_can_be_written_to_an_ascii_stream() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    watcher = PlainLines(stream, ASCII)
    for record in recorded.records([recorded.created(text="读一读 the file")]):
        watcher.on_record(record)
    stream.flush()
    assert b"the file" in stream.buffer.getvalue()


def test_json_lines_can_be_parsed_as_the_events() -> None:
    stream = io.StringIO()
    watcher = JsonLines(stream)
    records = recorded.whole_run()
    for record in records:
        watcher.on_record(record)
    parsed = []
    for line in stream.getvalue().splitlines():
        assert line.isascii()
        item = json.loads(line)
        item.pop("alias", None), item.pop("state", None)
        parsed.append(e.Record(item.pop("seq"), item.pop("at"), e.event_adapter.validate_python(item)))
    assert parsed == records
    assert fold(parsed) == fold(records)


def test_the_last_json_line_is_the_outcome() -> None:
    done = outcome_object(fold(recorded.whole_run()), Verdict.VERIFIED)
    assert (done["type"], done["verdict"], done["exit_code"]) == ("outcome", "verified", 0)
    assert done["tokens"] == {"prompt": 6000, "cached": 4000, "output": 900}
    waiting = outcome_object(fold(recorded.records([*recorded.phases(), *recorded.asking()])), Verdict.WAITING)
    assert waiting["exit_code"] == 4
    assert waiting["questions"][0]["text"] == "Go on with this plan?"
    json.dumps(done), json.dumps(waiting)


class BrokenPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_does_not_end_the_run() -> None:
    for watcher in (PlainLines(BrokenPipe(), UNICODE), JsonLines(BrokenPipe())):
        for record in recorded.whole_run():
            watcher.on_record(record)
        assert watcher.follower.state.outcome is not None


def test_a_folder_is_not_named_beside_its_file() -> None:
    rolled_back = e.RolledBack(step_id="s0", snapshot="0" * 64, paths=("lib", "lib/adder.py", "library.txt", "empty"))
    events = [*recorded.phases(), e.StepStarted(step_id="s0", attempt=1), rolled_back]
    assert plain(recorded.records(events))[-1].endswith("undone: lib/adder.py, library.txt, empty")
