"""Reuse of check results: a result is reused while its inputs are unchanged, and never otherwise."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.kit import Bench, act, steps
from surefoot.core.outcome import CheckResult
from surefoot.core.plan import (
    Check,
    CommandCheck,
    ExecutionStep,
    ExpressionCheck,
    FileCheck,
    JsonSchemaCheck,
    ParsesCheck,
    StepType,
    TextCheck,
)
from surefoot.core.transitions import StepStatus
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.proofs import expired
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.state import RunState
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Writes, tool
from surefoot.workspace.workspace import Workspace


def add_put_tool(bench: Bench, **more: Any) -> None:
    """Add a tool that writes one file of the workspace; without text it writes nothing."""

    @tool(writes=("path",), name="put", **more)
    async def put_text(path: str, text: str = "") -> str:
        """Write a file."""
        if text:
            (bench.root / path).parent.mkdir(exist_ok=True, parents=True)
            (bench.root / path).write_text(text)
        return path

    bench.toolbox = default_toolbox().with_(put_text)


def put_step(step_id: str, path: str, text: str, *checks: Check) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="put", parameters={"path": path, "text": text}, checks=checks)


def logging_check(bench: Bench, then: str = "true", **more: Any) -> tuple[CommandCheck, Path]:
    """A check, and the log outside the workspace to which each of its runs adds a line."""
    log = bench.home.parent / "ran"
    return CommandCheck(command=f"echo ran >> {log}; {then}", **more), log


def chain(*given: ExecutionStep) -> Any:
    return steps(*given, after=[(b.id, a.id) for a, b in pairwise(given)])


def check_runs(bench: Bench) -> list[tuple[str, str, bool]]:
    return [(ran.step_id, ran.when, ran.results[0].reused) for ran in bench.events(e.ChecksRan)]


@pytest.mark.req("O7")
async def test_command_is_not_run_twice_on_the_same_tree(bench: Bench) -> None:
    add_put_tool(bench)
    check, log = logging_check(bench)
    await bench.run_plan(chain(put_step("a", "a.txt", "", check), put_step("b", "b.txt", "b", check)))
    assert log.read_text().count("ran") == 3, "at first, after b.txt is written, and in the final validation"
    assert check_runs(bench) == [
        ("a", "before", False), ("a", "after", True), ("b", "before", True), ("b", "after", False), ("", "final", False)
    ]  # fmt: skip


@pytest.mark.req("O7")
async def test_a_result_is_reused_if_only_caches_that_no_check_reads_changed(bench: Bench) -> None:
    add_put_tool(bench)
    check, log = logging_check(bench)
    paths = [".mypy_cache/3.11/a.data.json", ".ruff_cache/1", "__pycache__/a.pyc"]
    await bench.run_plan(chain(*(put_step(f"s{n}", path, "x", check) for n, path in enumerate(paths))))
    assert [reused for _, _, reused in check_runs(bench)] == [False, True, True, True, True, False, False]
    assert log.read_text().count("ran") == 3, "at first, with other bytecode, and in the final validation"


@pytest.mark.req("O7")
async def test_final_checks_use_no_cache_of_mypy(bench: Bench) -> None:
    add_put_tool(bench)
    log = bench.home.parent / "places"
    check = CommandCheck(command=f'echo "${{MYPY_CACHE_DIR-own}} $RUFF_NO_CACHE" >> {log}', origin="user")
    await bench.run_plan(chain(put_step("a", "a.txt", "a", check)))
    *before, final = log.read_text().splitlines()
    assert set(before) == {"own true"}
    assert final == f"{os.devnull} true"


@pytest.mark.req("O7")
async def test_proofs_survive_a_resume_and_failures_do_not(bench: Bench) -> None:
    add_put_tool(bench)
    check, log = logging_check(bench)
    missing = CommandCheck(command=f"test -e {bench.home.parent}/installed")
    ask = put_step("b", "b.txt", "", check, missing).with_(requires_confirmation=True)
    state = await bench.run_plan(chain(put_step("a", "a.txt", "", check, missing).with_(allow_failure=True), ask))
    assert log.read_text().count("ran") == 1, "before the step; afterwards the tree was the same"
    (bench.home.parent / "installed").touch()
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes", at=None))
    state = await bench.resume(state.run_id, [])
    assert state.steps["b"].status is StepStatus.SUCCEEDED, "the person has mended what failed outside the workspace"
    assert log.read_text().count("ran") == 2, "only the final pass ran it again"
    assert [ran.results[0].reused for ran in bench.events(e.ChecksRan) if ran.step_id == "b"] == [True, True]


@pytest.mark.req("O7", "X1")
async def test_result_with_declared_reads_survives_other_changes(bench: Bench) -> None:
    add_put_tool(bench)
    check, log = logging_check(bench, "cat src/*.txt", reads=("src",))
    plan = chain(
        put_step("a", "src/a.txt", "a", check),
        put_step("b", "notes.md", "n", check),
        put_step("c", "src/c.txt", "c", check),
    )
    state = await bench.run_plan(plan)
    assert [reused for _, _, reused in check_runs(bench)] == [False, False, True, True, True, False, False]
    assert log.read_text().count("ran") == 4
    proof = state.steps["b"].results[0]
    assert proof.exit_code == 0
    assert proof.output_hash
    assert list(proof.inputs) == ["src"]
    assert proof.tree != state.steps["a"].results[0].tree, "it is bound to the current tree"


@pytest.mark.req("O7", "X1")
async def test_command_runs_again_after_an_effect_outside_the_workspace(bench: Bench) -> None:
    """The tree does not change, so a reused result would fail the step."""
    flag = bench.home.parent / "flag"

    @tool(external=True)
    async def deploy() -> str:
        """Do something outside."""
        flag.touch()
        return ""

    bench.toolbox = default_toolbox().with_(deploy)
    check = CommandCheck(command=f"test -e {flag}", origin="user")
    state = await bench.run_plan(
        steps(ExecutionStep(id="s", name="s", tool="deploy", checks=(check,))), allow=("deploy",)
    )
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    flag.unlink()
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION, checks=(check,))
    state = await bench.run_plan(steps(step), [act("run_command", command=f"touch {flag}")])
    assert state.steps["s"].status is StepStatus.SUCCEEDED, "a command without a sandbox may have such an effect too"


@pytest.fixture
def visible_folder() -> Iterator[Path]:
    """A folder that commands can see: in the sandbox they have a /tmp of their own."""
    hidden = ("/tmp", "/var/tmp")
    places = [Path(__file__).parent, Path.home(), Path("/opt"), Path("/srv")]
    seen = [p for p in places if not any(p.is_relative_to(h) for h in hidden) and os.access(p, os.W_OK)]
    if not seen:
        pytest.skip("no folder outside /tmp can be written")
    with tempfile.TemporaryDirectory(dir=seen[0]) as folder:
        yield Path(folder)


@pytest.mark.req("O7")
@pytest.mark.attack("forge")
async def test_command_runs_again_after_a_tool_of_the_user(bench: Bench, visible_folder: Path) -> None:
    """It runs in this process, so the sandbox of commands does not confine it."""
    flag = visible_folder / "flag"

    @tool(writes=Writes.FREE)
    async def generate() -> str:
        """Write somewhere."""
        flag.touch()
        return ""

    bench.toolbox = default_toolbox().with_(generate)
    check = CommandCheck(command=f"test -e {flag}", origin="user")
    step = ExecutionStep(id="s", name="s", tool="generate", checks=(check,))
    state = await bench.run_plan(steps(step), allow=("generate",), sandbox="auto")
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("O7")
@pytest.mark.attack("forge")
async def test_a_proof_is_dropped_after_a_tool_of_the_user(bench: Bench, visible_folder: Path) -> None:
    """It undid what the check had seen, in a place that no snapshot has."""
    flag = visible_folder / "flag"
    flag.touch()

    @tool(writes=Writes.FREE)
    async def clean() -> str:
        """Remove it."""
        flag.unlink(missing_ok=True)
        return ""

    bench.toolbox = default_toolbox().with_(clean)
    check = CommandCheck(command=f"test -e {flag}", origin="user")
    step = ExecutionStep(id="s", name="s", tool="clean", checks=(check,))
    await bench.run_plan(steps(step), allow=("clean",), sandbox="auto")
    before, after, *_ = [record.event.results[0] for record in bench.records if isinstance(record.event, e.ChecksRan)]
    assert (before.passed, after.passed, after.reused) == (True, False, False)


@pytest.mark.req("O7")
async def test_command_runs_again_when_snapshots_exclude_files(bench: Bench) -> None:
    add_put_tool(bench)
    check = CommandCheck(command="test -s packages/lib.txt")
    (bench.root / "packages").mkdir()
    (bench.root / "packages" / "lib.txt").touch()
    state = await bench.run_plan(
        steps(put_step("s", "packages/lib.txt", "text", check)), snapshot_excludes=("packages",)
    )
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("O7")
async def test_changed_modification_time_invalidates_a_result(bench: Bench) -> None:
    @tool(writes=("path",))
    async def freshen(path: str) -> str:
        """Touch a file."""
        os.utime(bench.root / path)
        return path

    bench.toolbox = default_toolbox().with_(freshen)
    bench.write(source__txt="1", built__txt="1")
    os.utime(bench.root / "built.txt", (1, 1))
    check = CommandCheck(command="test ! source.txt -nt built.txt", origin="user")
    step = ExecutionStep(id="s", name="s", tool="freshen", parameters={"path": "built.txt"}, checks=(check,))
    state = await bench.run_plan(steps(step))
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("X1")
async def test_expression_check_records_the_results_it_read(bench: Bench) -> None:
    add_put_tool(bench)
    check = ExpressionCheck(expression='outputs["a"]["result"] == "a.txt"')
    state = await bench.run_plan(chain(put_step("a", "a.txt", "a"), put_step("b", "b.txt", "b", check)))
    assert list(state.steps["b"].results[0].inputs) == ["outputs.a"]


@pytest.mark.req("X1")
async def test_result_expires_when_its_inputs_change(bench: Bench) -> None:
    add_put_tool(bench)
    checks: list[Check] = [
        CommandCheck(command="true"), CommandCheck(command="true; true", reads=("src",)), FileCheck(path="src/a.txt"),
        TextCheck(path="src/a.txt", pattern="one"),
    ]  # fmt: skip
    state = await bench.run_plan(steps(put_step("a", "src/a.txt", "one", *checks)))
    workspace = Workspace(bench.root, bench.home)

    def expired_inputs() -> list[list[str]]:
        return [expired(result, bench.root, workspace.tree_state()) for result in state.steps["a"].results]

    assert expired_inputs() == [[], [], [], []]
    bench.write(other__txt="x")
    assert expired_inputs() == [["the workspace"], [], [], []]
    (bench.root / "src" / "a.txt").write_text("one, two")
    assert expired_inputs() == [["the workspace"], ["src"], [], ["src/a.txt"]]
    shutil.rmtree(bench.root / "src")
    assert expired_inputs() == [["the workspace"], ["src"], ["src/a.txt"], ["src/a.txt"]]


FILES = ("a.py", "b.json", "sub/a.py", "link")
POOL: list[Check] = [
    check
    for path in FILES
    for check in (
        FileCheck(path=path),
        ParsesCheck(path=path),
        TextCheck(path=path, pattern="^x"),
        JsonSchemaCheck(path=path, json_schema={"type": "object"}),
        CommandCheck(command=f"cat {path}", reads=(path,)),
    )
]
changes = st.tuples(
    st.sampled_from([*FILES, "other.txt"]),
    st.sampled_from(["x = 1\n", "{}", "{", "", "remove", "folder", "to a.py", "to sub/a.py", "to /etc/hosts"]),
)


def alter(root: Path, name: str, how: str) -> None:
    path = root / name
    if path.parent.is_symlink() or path.parent.is_file():
        path.parent.unlink()
    path.parent.mkdir(exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
    if how == "folder":
        path.mkdir()
    elif how.startswith("to "):
        path.symlink_to(how[3:] if how[3:].startswith("/") else root / how[3:])
    elif how != "remove":
        path.write_text(how)


async def new_run(bench: Bench) -> Run:
    task = bench.task("look", ())
    run = Run(bench.services([]), RunState(run_id="r", task=task, config=bench.config()))
    await run.record(e.RunCreated(run_id="r", task=task, config=run.config, model="none", surefoot="0"))
    return run


@pytest.mark.slow
@pytest.mark.req("O7", "X1")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(changes, st.sets(st.sampled_from(range(len(POOL))), max_size=4)), max_size=6))
async def test_reused_result_equals_a_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[tuple[str, str], set[int]]]
) -> None:
    base = tmp_path_factory.mktemp("proofs")
    (base / "work").mkdir()
    bench = Bench(base / "work", base / "home")
    run = await new_run(bench)
    for (name, how), chosen in rounds:
        alter(bench.root, name, how)
        checks = [POOL[i] for i in sorted(chosen)]
        reused = await run.verifier.check(checks, "after")
        fresh = await run.verifier.check(checks, "final")
        assert list(map(comparable, reused)) == list(map(comparable, fresh))


def comparable(result: CheckResult) -> tuple[str, bool, str, int | None]:
    return result.check.label, result.passed, result.detail, result.exit_code
