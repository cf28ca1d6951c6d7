"""A result is used again while what it was found on is unchanged, and never otherwise."""

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import Bench, act, steps
from surefoot import events as e
from surefoot.engine import _make_run
from surefoot.machine import StepStatus
from surefoot.outcome import CheckResult
from surefoot.plan import (
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
from surefoot.run import Run
from surefoot.state import RunState
from surefoot.tools.base import tool
from surefoot.tools.registry import default_toolbox
from surefoot.verify import expired
from surefoot.workspace.snapshot import Workspace


def put(bench: Bench, **more: Any) -> None:
    """A tool that writes one file of the workspace, or leaves it alone, and nothing else."""

    @tool(writes=("path",), name="put", **more)
    async def put_text(path: str, text: str = "") -> str:
        """Write a file."""
        if text:
            (bench.root / path).parent.mkdir(exist_ok=True, parents=True)
            (bench.root / path).write_text(text)
        return path

    bench.toolbox = default_toolbox().with_(put_text)


def putting(step_id: str, path: str, text: str, *checks: Check) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="put", parameters={"path": path, "text": text}, checks=checks)


def counted(bench: Bench, then: str = "true", **more: Any) -> tuple[CommandCheck, Path]:
    """A check that leaves a mark elsewhere each time it is really run."""
    log = bench.home.parent / "ran"
    return CommandCheck(command=f"echo ran >> {log}; {then}", **more), log


def chain(*given: ExecutionStep) -> Any:
    return steps(*given, after=[(b.id, a.id) for a, b in pairwise(given)])


def told(bench: Bench) -> list[tuple[str, str, bool]]:
    return [(ran.step_id, ran.when, ran.results[0].reused) for ran in bench.events(e.ChecksRan)]


@pytest.mark.req("O7")
async def test_a_command_is_not_run_twice_on_the_same_tree(bench: Bench) -> None:
    put(bench)
    check, log = counted(bench)
    await bench.run_plan(chain(putting("a", "a.txt", "", check), putting("b", "b.txt", "b", check)))
    assert log.read_text().count("ran") == 3, "at first, after b.txt was written, and in the final pass"
    assert told(bench) == [
        ("a", "before", False), ("a", "after", True), ("b", "before", True), ("b", "after", False), ("", "final", False)
    ]  # fmt: skip


@pytest.mark.req("O7", "X1")
async def test_what_a_command_declares_keeps_its_proof_through_other_changes(bench: Bench) -> None:
    put(bench)
    check, log = counted(bench, "cat src/*.txt", reads=("src",))
    plan = chain(
        putting("a", "src/a.txt", "a", check),
        putting("b", "notes.md", "n", check),
        putting("c", "src/c.txt", "c", check),
    )
    state = await bench.run_plan(plan)
    assert [reused for _, _, reused in told(bench)] == [False, False, True, True, True, False, False]
    assert log.read_text().count("ran") == 4
    proof = state.steps["b"].checks[0]
    assert proof.exit_code == 0
    assert proof.output_hash
    assert list(proof.inputs) == ["src"]
    assert proof.tree != state.steps["a"].checks[0].tree, "it holds for the tree as it is now"


@pytest.mark.req("O7", "X1")
async def test_a_command_that_can_see_beyond_the_files_is_run_again(bench: Bench) -> None:
    """The tree tells nothing: what was done is elsewhere. A result that is remembered would fail the step."""
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
    assert state.steps["s"].status is StepStatus.SUCCEEDED, "nor does a command that nothing keeps in"


@pytest.mark.req("O7")
async def test_what_snapshots_leave_out_can_change_unseen(bench: Bench) -> None:
    put(bench)
    check = CommandCheck(command="test -s packages/lib.txt")
    (bench.root / "packages").mkdir()
    (bench.root / "packages" / "lib.txt").touch()
    state = await bench.run_plan(
        steps(putting("s", "packages/lib.txt", "there", check)), snapshot_excludes=("packages",)
    )
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("O7")
async def test_times_count_because_build_tools_go_by_them(bench: Bench) -> None:
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
async def test_an_expression_tells_which_results_it_looked_at(bench: Bench) -> None:
    put(bench)
    check = ExpressionCheck(expression='outputs["a"]["result"] == "a.txt"')
    state = await bench.run_plan(chain(putting("a", "a.txt", "a"), putting("b", "b.txt", "b", check)))
    assert list(state.steps["b"].checks[0].inputs) == ["outputs.a"]


@pytest.mark.req("X1")
async def test_a_proof_expires_with_what_it_was_found_on(bench: Bench) -> None:
    put(bench)
    checks: list[Check] = [
        CommandCheck(command="true"), CommandCheck(command="true; true", reads=("src",)), FileCheck(path="src/a.txt"),
        TextCheck(path="src/a.txt", pattern="one"),
    ]  # fmt: skip
    state = await bench.run_plan(steps(putting("a", "src/a.txt", "one", *checks)))
    workspace = Workspace(bench.root, bench.home)

    def gone() -> list[list[str]]:
        return [expired(result, bench.root, workspace.look()) for result in state.steps["a"].checks]

    assert gone() == [[], [], [], []]
    bench.write(other__txt="x")
    assert gone() == [["the workspace"], [], [], []]
    (bench.root / "src" / "a.txt").write_text("one, two")
    assert gone() == [["the workspace"], ["src"], [], ["src/a.txt"]]
    shutil.rmtree(bench.root / "src")
    assert gone() == [["the workspace"], ["src"], ["src/a.txt"], ["src/a.txt"]]


# -- against running them anew -----------------------------------------------------------------------------------------

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


async def begun(bench: Bench) -> Run:
    task = bench.task("look", ())
    run = _make_run(bench.services([]), RunState(run_id="r", task=task, config=bench.config()))
    await run.record(e.RunCreated(run_id="r", task=task, config=run.config, model="none", surefoot="0"))
    return run


@pytest.mark.req("O7", "X1")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(changes, st.sets(st.sampled_from(range(len(POOL))), max_size=4)), max_size=6))
async def test_a_result_that_is_used_again_is_what_running_it_gives(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[tuple[str, str], set[int]]]
) -> None:
    base = tmp_path_factory.mktemp("proofs")
    (base / "work").mkdir()
    bench = Bench(base / "work", base / "home")
    run = await begun(bench)
    for (name, how), chosen in rounds:
        alter(bench.root, name, how)
        checks = [POOL[i] for i in sorted(chosen)]
        remembered = await run.verifier.check(checks, "after")
        anew = await run.verifier.check(checks, "final")
        assert list(map(seen, remembered)) == list(map(seen, anew))


def seen(result: CheckResult) -> tuple[str, bool, str, int | None]:
    return result.check.label, result.passed, result.detail, result.exit_code
