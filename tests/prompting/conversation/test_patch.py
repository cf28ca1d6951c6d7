"""Models that were trained on apply_patch get it in place of edit_file, and it is as guarded as edit_file."""

from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, PreparedPerson
from support.talk import CALC_TEST, results, submit
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits

TRAINED = ModelTraits(tools="native", context_tokens=200_000, edit_format="apply_patch")
CHECK = "python3 test_calc.py"
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
HUNK = "@@ def add(a, b):\n-    return a - b\n+    return a + b\n"
PATCH = f"*** Begin Patch\n*** Update File: calc.py\n{HUNK}*** End Patch\n"
FIX = ("apply_patch", {"patch": PATCH})
FINISH_ANYHOW = [("cannot", {"reason": "enough"})]
FINISH = ("finish_step", {"summary": "fixed"})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py=WRONG, test_calc__py=CALC_TEST)
    return bench


@pytest.mark.req("X11")
async def test_the_model_decides_which_tools_for_editing_there_are(calc: Bench) -> None:
    await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]], checks=[CHECK], traits=TRAINED)
    names = [{tool.name for tool in request.tools} for request in calc.talker.requests]
    assert all("apply_patch" in offered for offered in names)
    assert not names[0] & {"edit_file", "delete_file", "move_file"}
    assert calc.files()["calc.py"] == RIGHT
    (started,) = calc.events(e.ActionStarted)
    assert started.tool == "apply_patch"
    (finished,) = calc.events(e.ActionFinished)
    assert finished.changed == ("calc.py",)


async def test_other_models_get_edit_file(calc: Bench) -> None:
    edit = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
    await calc.talk("Fix add in calc.py.", [submit(), [edit, FINISH]], checks=[CHECK])
    names = {tool.name for tool in calc.talker.requests[0].tools}
    assert names >= {"edit_file", "delete_file", "move_file"}
    assert "apply_patch" not in names


@pytest.mark.req("X11")
async def test_a_patch_in_a_shell_command_is_carried_out_as_the_tool(calc: Bench) -> None:
    script = [submit(), [("run_command", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}), FINISH]]
    state = await calc.talk("Fix add in calc.py.", script, checks=[CHECK], traits=TRAINED, approve="auto-edit")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [event.tool for event in calc.events(e.ActionStarted)] == ["apply_patch"]


@pytest.mark.attack("paths")
async def test_a_patch_in_a_shell_command_keeps_to_the_path_rules(calc: Bench) -> None:
    """A shell command could write there; a patch may not, however it is sent."""
    outside = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+#!/bin/sh\n*** End Patch\n"
    more = f"apply_patch <<'EOF'\n{PATCH}EOF\npython3 test_calc.py"
    script = [
        submit(),
        [("run_command", {"command": f"apply_patch <<'EOF'\n{outside}EOF"})],
        [("run_command", {"command": more})],
        [FIX, FINISH],
    ]
    await calc.talk("Fix add in calc.py.", script, checks=[CHECK], traits=TRAINED)
    assert "belong to git" in results(calc.talker.requests[2])[0]
    assert "apply_patch is no program here" in results(calc.talker.requests[3])[0]
    assert not (calc.root / ".git").exists()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"deny": ["edit_file(calc.py)"]}, "rules do not allow"),
        ({"deny": ["apply_patch(calc.py)"]}, "rules do not allow"),
        ({"approve": "ask"}, "the user said no"),
        ({"approve": "ask", "allow": ["edit_file(*.py)"]}, "updated calc.py"),
        ({"approve": "ask", "allow": ["apply_patch(calc.py)"]}, "updated calc.py"),
    ],
)
async def test_the_rules_for_edits_hold_for_patches(calc: Bench, config: dict[str, Any], message: str) -> None:
    calc.person = PreparedPerson("no")
    script = [submit(), [FIX], FINISH_ANYHOW]
    await calc.talk("Fix add in calc.py.", script, traits=TRAINED, reflection=NO_RETRIES, **config)
    assert message in results(calc.talker.requests[2])[0]


async def test_a_person_sees_the_patch_and_may_change_it(calc: Bench) -> None:
    calc.person = person = PreparedPerson(f"edit: {PATCH.replace('a + b', 'b + a')}")
    await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]], checks=[CHECK], traits=TRAINED, approve="ask")
    asked = person.questions[0]
    assert "+    return a + b" in asked.text
    assert "always apply_patch(calc.py)" in asked.options
    assert calc.files()["calc.py"] == RIGHT.replace("a + b", "b + a")


async def test_every_file_of_a_patch_is_recorded_as_changed(calc: Bench) -> None:
    more = "*** Add File: b.py\n+x = 1\n*** Update File: old.py\n*** Move to: new.py\n*** End Patch"
    calc.write(old__py="y = 1\n")
    script = [submit(), [("apply_patch", {"patch": PATCH.replace("*** End Patch", more)}), FINISH]]
    await calc.talk("Fix add in calc.py.", script, checks=[CHECK], traits=TRAINED)
    (finished,) = calc.events(e.ActionFinished)
    assert finished.changed == ("calc.py", "b.py", "old.py", "new.py")
