"""Names that look like tokens, or contain the value of a secret variable, are stored as they are: what the engine does
with them works. Only free text is redacted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.candidates import FAILED_ATTEMPTS, SUM, TWO_RETRIES
from support.kit import NO_RETRIES, Bench, act, done, fenced, steps, understanding
from support.trees import photograph
from surefoot import Agent, ScriptedModel, Verdict
from surefoot.config.model import ExecutionConfig
from surefoot.core.plan import ExecutionStep, FileCheck, StepType, TextCheck
from surefoot.core.transitions import Stage, StepStatus
from surefoot.errors import UsageError
from surefoot.history.fork import Point, fork
from surefoot.history.timeline import diff_of
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.memory import MemoryJournal
from surefoot.journal.store.sqlite import SqliteJournal

GITHUB = "ghp_" + "a1B2c3D4e5" * 4
OPENAI = "sk-proj-" + "Ab3dEfGh1jKlMn0pQrStUvWxYz0123456789"
STRONG = "correct-horse-battery-9Xq"
NAMES = [GITHUB, OPENAI, "postgres", "django-insecure-dev"]
"""Two formats of tokens, and the values of two variables."""


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    monkeypatch.setenv("SECRET_KEY", "django-insecure-dev")
    monkeypatch.setenv("SERVICE_PASSWORD", STRONG)


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench in a folder whose name looks like a token, with a journal on disk."""
    root, home = tmp_path / OPENAI / "work", tmp_path / "home"
    root.mkdir(parents=True)
    home.mkdir()
    journal = SqliteJournal(home / "journal.sqlite")
    yield Bench(root, home, journal)
    await journal.aclose()


def making(path: str, step_id: str = "s") -> ExecutionStep:
    return ExecutionStep(
        id=step_id, name="make it", description="make the file", step_type=StepType.COMMAND_EXECUTION,
        checks=(FileCheck(path=path),),
    )  # fmt: skip


def with_folder(bench: Bench, name: str) -> None:
    (bench.root / name).mkdir()
    (bench.root / name / "old.txt").write_text(f"kept in {name}\n")


@pytest.mark.parametrize("name", NAMES)
async def test_undo_removes_and_restores_every_file(stored: Bench, name: str) -> None:
    with_folder(stored, name)
    before = photograph(stored.root)
    command = f"echo new > {name}/new.txt; rm {name}/old.txt"
    state = await stored.run_plan(
        steps(making(f"{name}/new.txt")), [act("run_command", command=command)], checks=[f"grep -qx new {name}/new.txt"]
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert set(state.outcome.changed_files) == {f"{name}/new.txt", f"{name}/old.txt"}
    folded = fold(stored.journal.read(state.run_id))
    assert folded.steps["s"].touched == state.steps["s"].touched >= {f"{name}/new.txt", f"{name}/old.txt"}
    assert folded.task == state.task
    assert folded.task is not None
    assert folded.task.folder == stored.root
    assert f"+++ b/{name}/new.txt" in diff_of(list(stored.journal.read(state.run_id)), stored.home)
    assert await undo(stored.journal, stored.home, state.run_id)
    assert photograph(stored.root) == before


@pytest.mark.parametrize("name", [GITHUB, "postgres", STRONG])
async def test_failed_attempt_is_rolled_back(stored: Bench, name: str) -> None:
    """Also where the name of a file is a secret that a command has read: it is a path, so it is stored as it is."""
    (stored.root / "name").write_text(name)
    before = photograph(stored.root)
    plan = steps(making("never.txt"))
    command = 'mkdir "$(cat name)"; echo x > "$(cat name)/made.txt"'
    state = await stored.run_plan(plan, [act("run_command", command=command), done()], reflection=NO_RETRIES)
    assert state.steps["s"].status is StepStatus.FAILED
    assert photograph(stored.root) == before
    assert STRONG not in "".join(stored.prompts())


async def test_resumed_run_goes_on_with_the_same_answer_and_path(stored: Bench) -> None:
    """The answer of the model is used again after a pause. It is stored as it is, also with a token in it."""
    body = f'TOKEN = "{GITHUB}"\nname = "postgres"\n'
    step = making(f"{GITHUB}/fixture.py")
    write = act("write_file", path=f"{GITHUB}/fixture.py", content=body)
    state = await stored.run_plan(steps(step), [write], approve="ask")
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    await stored.journal.append(state.run_id, [e.QuestionAnswered(question_id=question.id, answer="yes")])
    resumed = await stored.resume(state.run_id, [])
    assert resumed.steps["s"].status is StepStatus.SUCCEEDED, "no answer is left: the recorded one was used"
    assert (stored.root / GITHUB / "fixture.py").read_text() == body


async def test_standing_approval_is_remembered_as_it_was_given(stored: Bench) -> None:
    """The rule names a path. Altered, it would allow something else, or nothing."""
    path = f"{GITHUB}/notes.txt"
    first, second = making(path, "one"), making("x", "two").with_(checks=(TextCheck(path=path, pattern="2"),))
    answers = [act("write_file", path=path, content=f"{number}\n") for number in (1, 2)]
    plan = steps(first, second, after=[("two", "one")])
    state = await stored.run_plan(plan, answers, approve="ask")
    (question,) = state.open_questions
    always = f"always write_file({path})"
    assert always in question.options
    answer = e.QuestionAnswered(question_id=question.id, answer=always)
    await stored.journal.append(state.run_id, [answer])
    resumed = await stored.resume(state.run_id, answers[1:])
    assert resumed.allowed == [f"write_file({path})"]
    assert not resumed.open_questions
    assert (stored.root / path).read_text() == "2\n"


async def test_chosen_candidate_is_written_as_the_model_wrote_it(stored: Bench) -> None:
    text = f"5\ntoken = {GITHUB}"
    answers = [*FAILED_ATTEMPTS, fenced("6\n", ""), fenced(text, "")]
    state = await stored.run_plan(steps(SUM), answers, checks=["grep -qx 5 sum.txt"], reflection=TWO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert (stored.root / "sum.txt").read_text().strip() == text


async def test_fork_has_the_same_checks_and_files(stored: Bench, tmp_path: Path) -> None:
    with_folder(stored, GITHUB)
    first, second = making(f"{GITHUB}/1.txt", "one"), making(f"{GITHUB}/2.txt", "two")
    answers = [act("run_command", command=f"touch {GITHUB}/{n}.txt") for n in (1, 2)]
    state = await stored.run_plan(steps(first, second, after=[("two", "one")]), answers)
    target = tmp_path / GITHUB
    new = await fork(stored.journal, stored.home, state.run_id, Point(step="two"), target)
    forked = fold(stored.journal.read(new))
    assert forked.task is not None
    assert forked.task.folder == target
    assert forked.steps["two"].step == state.steps["two"].step
    ended = await stored.resume(new, [act("run_command", command=f"touch {GITHUB}/2.txt")])
    assert ended.steps["two"].status is StepStatus.SUCCEEDED
    assert sorted(path.name for path in (target / GITHUB).iterdir()) == ["1.txt", "2.txt", "old.txt"]


async def test_model_sees_the_names_of_the_users_files_and_can_use_them(stored: Bench) -> None:
    """What looks like a token is shown to the model where it is part of the name of a file, and nowhere else."""
    other = "ghp_" + "Z9y8X7w6V5" * 4
    with_folder(stored, GITHUB)
    (stored.root / GITHUB / "config.py").write_text(f'token = "{other}"\nuser = "postgres"\n')
    step = making("done.txt").with_(description=f"look at {GITHUB}/config.py, then make done.txt")
    answers = [
        act("read_file", path=f"{GITHUB}/config.py"),
        act("run_command", command=f"ls {GITHUB}; touch done.txt"),
    ]
    await stored.run_plan(steps(step), answers)
    prompt = stored.prompts()[1]
    assert f"{GITHUB}/config.py" in prompt
    assert 'user = "postgres"' in prompt
    assert '"[redacted github token]"' in prompt
    assert other not in prompt


async def test_file_with_an_ordinary_word_is_edited_and_written_back_whole(stored: Bench) -> None:
    stored.write(compose__yml="services:\n  db:\n    image: postgres\n    password: postgres\n")
    step = making("x").with_(checks=(TextCheck(path="compose.yml", pattern="postgres:16"),))
    await stored.run_plan(
        steps(step),
        [
            act("read_file", path="compose.yml"),
            act("edit_file", path="compose.yml", search="image: postgres", replace="image: postgres:16"),
        ],
    )
    assert stored.files()["compose.yml"] == "services:\n  db:\n    image: postgres:16\n    password: postgres\n"
    assert not [prompt for prompt in stored.prompts() if "[redacted" in prompt]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "copy.py", "content": 'token = "[redacted github token]"\n'}),
        ("run_command", {"command": "echo '[redacted github token]' > copy.py"}),
        ("run_python", {"code": "open('copy.py', 'w').write('[redacted github token]')"}),
        ("write_file", {"path": "[redacted github token]/copy.py", "content": "x = 1\n"}),
    ],
)
async def test_placeholders_are_not_copied_by_any_tool(bench: Bench, tool: str, arguments: dict[str, str]) -> None:
    bench.write(settings__py=f'token = "{GITHUB}"\n')
    answers = [act("read_file", path="settings.py"), act(tool, **arguments), done()]
    await bench.run_plan(steps(making("copy.py")), answers, reflection=NO_RETRIES)
    refused = bench.events(e.ActionFinished)[1]
    assert not refused.ok
    assert "stands for a secret that you were not shown" in refused.summary
    assert set(bench.files()) == {"settings.py"}


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "check", "message"),
    [
        (f"log in with {STRONG}", "true", "the task contains the value of SERVICE_PASSWORD"),
        ("log in", f"curl -u me:{STRONG} localhost", "check 1 contains the value of SERVICE_PASSWORD"),
        (f"push with {OPENAI}", "true", "the task contains what looks like an api key"),
        (f"clone https://{GITHUB}@github.com/x/y", "true", "the task contains what looks like a github token"),
        ("push", f"git push https://{GITHUB}@github.com", "contains what looks like a github token"),
    ],
)
async def test_secret_in_a_task_or_a_check_is_refused_at_the_start(
    bench: Bench, task: str, check: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        await bench.run(task, [], checks=[check])
    assert refused.value.remedy
    assert STRONG not in f"{refused.value} {refused.value.remedy}"
    assert GITHUB not in f"{refused.value} {refused.value.remedy}"
    assert not bench.journal.summaries()


@pytest.mark.parametrize("name", [f"{GITHUB}/notes.txt", f"docs/{OPENAI}", "postgres/a.txt", "postgres"])
async def test_path_in_a_task_is_not_refused(bench: Bench, name: str) -> None:
    answers = [understanding(name), act("run_command", command="true"), done()] * 3
    state = await bench.run(f"Write {name}", answers, checks=["true"], reflection=NO_RETRIES)
    assert state.task is not None
    assert state.task.text == f"Write {name}"
    assert name in bench.prompts()[0]


async def test_workspace_below_a_secret_is_refused(tmp_path: Path) -> None:
    root = tmp_path / STRONG
    root.mkdir()
    bench = Bench(root, tmp_path / "home")
    with pytest.raises(UsageError, match="the path of the workspace contains the value of SERVICE_PASSWORD"):
        await bench.run("do something", [])


# -- the library ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["default", "sqlite"])
async def test_journal_of_the_library_is_redacted_like_that_of_the_command_line(tmp_path: Path, kind: str) -> None:
    """At default settings. The key of the model is a secret too, wherever it comes from."""
    root = tmp_path / OPENAI
    root.mkdir()
    (root / "settings.ini").write_text(f"password = {STRONG}\ntoken = {GITHUB}\nkey = only-the-client-knows-1\n")
    model = ScriptedModel([act("run_command", command="cat settings.ini; touch done.txt")])
    model.secrets = {"the API key": "only-the-client-knows-1"}  # type: ignore[attr-defined]
    journal = MemoryJournal() if kind == "default" else SqliteJournal(tmp_path / "journal.sqlite")
    agent = Agent(model, ExecutionConfig(), journal, workspace=root, home=tmp_path / "home")
    step = making("done.txt").with_(tool="")
    result = await agent.execute_single_step(step)
    assert result.output is not None
    assert result.output.generated_files == ("done.txt",)
    (summary,) = journal.summaries()
    assert summary.workspace == str(root)
    records = list(journal.read(summary.run_id))
    outputs = [r.event.output for r in records if isinstance(r.event, e.ActionFinished) and r.event.output]
    blobs = b"".join(map(journal.get_blob, outputs))
    everything = "".join(map(repr, records)) + blobs.decode()
    assert "[redacted github token]" in everything
    assert [s for s in (STRONG, GITHUB, "only-the-client-knows-1") if s in everything] == []
    await journal.aclose()


async def test_log_of_the_library_hides_secrets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="surefoot")
    (tmp_path / "settings.ini").write_text(f"password = {STRONG}\ntoken = {GITHUB}\n")
    model = ScriptedModel([act("run_command", command="cat settings.ini; touch done.txt")])
    agent = Agent(model, ExecutionConfig(verbose_logging=True), workspace=tmp_path, home=tmp_path.parent / "home")
    await agent.execute_single_step(making("done.txt"))
    assert "[redacted github token]" in caplog.text
    assert STRONG not in caplog.text
    assert GITHUB not in caplog.text


# -- journals of earlier versions ----------------------------------------------------------------------------------


async def test_undo_of_a_run_whose_paths_an_earlier_version_altered(stored: Bench) -> None:
    """The placeholder stands for an unknown path, so everything that changed counts as changed by the run."""
    before = photograph(stored.root)
    state = await stored.run_plan(
        steps(making(f"{GITHUB}.txt")), [act("run_command", command=f"echo x > {GITHUB}.txt")]
    )
    altered = MemoryJournal()
    for _, _, event in stored.journal.read(state.run_id):
        body = e.encode(event).decode().replace(GITHUB, "[redacted github token]")
        await altered.append(state.run_id, [e.decode(event.type, body.encode())])
    assert await undo(altered, stored.home, state.run_id)
    assert photograph(stored.root) == before
