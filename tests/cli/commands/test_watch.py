"""`surefoot watch`: a run of another process, through the journal."""

import pytest

from cli.conftest import Surefoot
from support.recorded import asking, phases, records, whole_run
from support.stories import slow_script
from support.talk import submit
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.workspace.lock import WorkspaceLock


@pytest.mark.req("O9")
def test_a_run_in_progress_is_watched_to_its_end(surefoot: Surefoot) -> None:
    run = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    while not (surefoot.workspace / "begun").exists():
        assert run.poll() is None
    watching = surefoot.start("watch", "--json")
    assert surefoot("cancel", "last").code == 0
    out, _ = watching.communicate(timeout=120)
    run.communicate(timeout=120)
    assert watching.returncode == run.returncode == 130
    kinds = [line.split('"type": "')[1].split('"')[0] for line in out.splitlines()]
    assert kinds[0] == "run_created"
    assert kinds[-2:] == ["run_ended", "outcome"]


async def test_a_run_that_has_ended_or_waits_is_shown_at_once(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    ended = surefoot("watch")
    assert ended.code == 0
    assert "Verified" in ended.out


async def test_a_run_that_waits_has_the_exit_code_of_waiting(surefoot: Surefoot) -> None:
    await surefoot.store(records([*phases(), *asking()]))
    assert surefoot("watch").code == 4


async def test_a_run_whose_process_was_killed_ends_the_watching(surefoot: Surefoot) -> None:
    await surefoot.store(records(phases()))
    assert surefoot("watch").code == 130


@pytest.mark.req("O9")
async def test_a_run_is_watched_until_its_outcome_is_recorded(surefoot: Surefoot) -> None:
    """The files are compared between the last stage and the outcome, which takes long in a large folder."""
    *before, ended = whole_run()
    run_id = await surefoot.store(before)
    with WorkspaceLock(surefoot.workspace, surefoot.state, run_id):
        watching = surefoot.start("watch", "--json")
        assert watching.stdout is not None
        while '"completed"' not in (line := watching.stdout.readline()):
            assert line, watching.communicate()
        journal = SqliteJournal(surefoot.journal_file)
        await journal.append(run_id, [ended.event])
        await journal.aclose()
        out, _ = watching.communicate(timeout=120)
    assert watching.returncode == 0
    assert '"verdict": "verified"' in out.splitlines()[-1]


async def test_a_run_whose_process_was_killed_before_its_outcome_is_interrupted(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run()[:-1])
    assert surefoot("watch").code == 130


@pytest.mark.req("O9")
def test_another_terminal_shows_what_the_model_is_writing(surefoot: Surefoot) -> None:
    task, secret = "Say hello in hello.txt.", "sk-live-0123456789abcdef0123456789abcdef"
    words = " ".join(f"word{number}" for number in range(3_000))
    # It writes for ten minutes, so what is seen is seen before the answer is complete.
    slow = {"text": f"I use {secret} here. {words}", "calls": [["finish_step", {"summary": "done"}]], "seconds": 600}
    model = surefoot.script({"calls": submit(understanding=task)}, slow)
    run = surefoot.start("run", task, "-m", model, "--sandbox", "off", "--json")
    assert run.stdout is not None
    while '"step_started"' not in (line := run.stdout.readline()):
        assert line, run.communicate()
    watching = surefoot.on_terminal("watch", "last", "--live")
    watching.wait_for_matching(lambda _: "word3 " in " ".join(" ".join(watching.screen).split()))
    assert run.poll() is None
    assert secret not in watching.output
    assert surefoot("cancel", "last").code == 0
    run.communicate(timeout=120)
    assert watching.end() == 130
    assert secret not in watching.output
