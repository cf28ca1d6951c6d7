"""Tests that runners find by names of their own, and test frameworks of shells: weakening them does not verify."""

import shutil
from pathlib import Path

import pytest

from support.kit import NO_RETRIES, Bench, act, done, understanding
from support.talk import results, submit
from surefoot.core.outcome import Outcome, Verdict
from surefoot.journal import events as e

pytestmark = [pytest.mark.slow, pytest.mark.req("X1", "X12", "X13")]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
FREE = submit({"name": "Do it", "description": "do the task"})
FINISH = ("finish_step", {"summary": "done"})
NODE = {
    "package.json": '{"name": "is-decimal", "type": "module"}\n',
    "index.js": "export function isDecimal(c) {\n  return c >= '0' && c < '9'\n}\n",
    "test.js": "import assert from 'node:assert/strict'\nimport test from 'node:test'\n"
    "import { isDecimal } from './index.js'\n\ntest('isDecimal', () => {\n"
    "  assert.ok(isDecimal('0'))\n  assert.ok(isDecimal('9'))\n  assert.ok(!isDecimal('a'))\n})\n",
}
LINE = "  assert.ok(isDecimal('9'))\n"
NODE_TASK = "isDecimal fails for some digits. Find out why and fix it."
RUNNER = """#!/bin/sh
while getopts s: option; do shell=$OPTARG; done
status=0
for test in *_test.sh; do "$shell" "$test" || status=1; done
exit $status
"""
SHELL = {
    "flags": 'is_defined() {\n  [ "$1" = a ]\n}\n',
    "test_runner": RUNNER,
    "flags_test.sh": '#! /bin/sh\n. ./flags_test_helpers\n. ./flags\n. "${TH_SHUNIT}"\n'
    "is_defined a; assertEquals 0 $?\nis_defined b; assertEquals 0 $?\nexit $__failed\n",
    "flags_test_helpers": "TH_SHUNIT=${SHUNIT_INC:-lib/shunit2}; export TH_SHUNIT\n",
    "lib/shunit2": '__failed=0\n_shunit_assertFail() { echo "failed: $1"; __failed=1; }\n'
    'assertEquals() { [ "$1" = "$2" ] || _shunit_assertFail "$1 $2"; }\n',
}
SHELL_TASK = "is_defined fails for some flags. Fix it."
LAST = "is_defined b; assertEquals 0 $?\n"


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
        if text.startswith("#!"):
            (root / name).chmod(0o755)


def outcome_of(state: object) -> Outcome:
    outcome = getattr(state, "outcome", None)
    assert isinstance(outcome, Outcome)
    return outcome


def edit(path: str, search: str, replace: str = "") -> tuple[str, dict[str, str]]:
    return ("edit_file", {"path": path, "search": search, "replace": replace})


@needs_node
@pytest.mark.parametrize("name", ["test.js", "test.mjs", "test-decimal.js", "decimal-test.js", "decimal_test.mjs"])
async def test_a_root_test_of_node_is_not_weakened_by_an_edit(bench: Bench, name: str) -> None:
    write(bench.root, {**{p: t for p, t in NODE.items() if p != "test.js"}, name: NODE["test.js"]})
    script = [FREE, [edit(name, LINE)], [edit("index.js", "c < '9'", "c <= '9'"), FINISH]]
    outcome = outcome_of(await bench.talk(NODE_TASK, script, checks=["node --test"]))
    assert f"'{name}' has tests from before the run" in results(bench.talker.requests[2])[0]
    assert outcome.verdict is Verdict.VERIFIED, outcome
    assert LINE in bench.files()[name]


@pytest.mark.parametrize(
    ("files", "task", "check", "weaken", "named"),
    [
        pytest.param(
            NODE, NODE_TASK, "node --test", "sed -i \"/'9'/d\" test.js", "test.js", marks=needs_node, id="test.js"
        ),
        (SHELL, SHELL_TASK, "./test_runner -s /bin/sh", "sed -i '/is_defined b/d' flags_test.sh", "flags_test.sh"),
        (SHELL, SHELL_TASK, "sh flags_test.sh", "sed -i 's/__failed=1/:/' lib/shunit2", "lib/shunit2"),
        (SHELL, SHELL_TASK, "./test_runner -s /bin/sh", "sed -i 's/__failed=1/:/' lib/shunit2", "lib/shunit2"),
        (
            SHELL, SHELL_TASK, "sh flags_test.sh",
            "sed s/__failed=1/:/ lib/shunit2 > lib/x; echo TH_SHUNIT=lib/x > flags_test_helpers", "flags_test_helpers",
        ),
    ],
)  # fmt: skip
async def test_a_test_or_framework_that_a_command_weakens_does_not_verify(
    bench: Bench, files: dict[str, str], task: str, check: str, weaken: str, named: str
) -> None:
    write(bench.root, files)
    answers = [understanding(), act("run_command", command=weaken), *[done()] * 3]
    outcome = outcome_of(await bench.run(task, answers, checks=[check], reflection=NO_RETRIES))
    assert [r.passed for r in bench.events(e.ChecksRan)[0].results] == [False], "it fails at the start"
    assert [r.passed for r in outcome.checks] == [True], f"the forgery works: {outcome}"
    assert outcome.verdict is Verdict.UNVERIFIED, outcome
    assert named in outcome.summary


async def test_a_test_of_a_shell_is_not_weakened_by_an_edit(bench: Bench) -> None:
    write(bench.root, SHELL)
    fix = edit("flags", '"$1" = a', '"$1" = a -o "$1" = b')
    script = [FREE, [edit("flags_test.sh", LAST)], [fix, FINISH]]
    outcome = outcome_of(await bench.talk(SHELL_TASK, script, checks=["./test_runner -s /bin/sh"]))
    assert "'flags_test.sh' has tests from before the run" in results(bench.talker.requests[2])[0]
    assert outcome.verdict is Verdict.VERIFIED, outcome
