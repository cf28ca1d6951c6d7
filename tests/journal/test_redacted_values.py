"""Which fields of events are redacted when they are stored, which only where they are shown, and which never."""

import json
from typing import Any

import pytest

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import CheckResult, Failure, FailureKind
from surefoot.core.plan import CommandCheck, FileCheck
from surefoot.core.task import Task
from surefoot.core.transitions import StepStatus
from surefoot.core.values import Secrecy, Value
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import exported, redacted_for_display, redacted_for_storage

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
VALUE = "correct-horse-battery-9Xq"
BOTH = f"{TOKEN} {VALUE}"
REDACTOR = Redactor([VALUE])

NEVER_ALTERED = {
    # ids, hashes and names of tools, models and people; names of problems
    "cause",
    "checks",  # of the settings: commands of the user
    *("action_id", "after", "alternative_tool", "answer", "based_on", "body", "by", "command", "compensation_id"),
    *("criterion_checks", "expected_tools"),
    # of git: the commit, the branches, the step that was committed
    *("commit", "branch", "branched_from", "step", "ref"),
    # of a run that continues another: ids, and hashes of what is known of it
    *("run", "session", "facts", "brief"),
    # of alerts: the id, the host or program, the hash of what is sent
    *("alert_id", "target", "document"),
    *("depends_on", "finish_reason", "fingerprint", "hash", "hollow", "id", "key", "kind", "model", "order", "output"),
    *(
        "output_hash",
        "producer",
        "prompt",
        "proposed",
        "purpose",
        "question_id",
        "removed",
        "removes",
        "run_id",
        "snapshot",
        "step_id",
    ),
    *(
        "step_ids",
        "subject",
        "surefoot",
        "tool",
        "towards",
        "tree",
        "exact_tree",
        "undoes",
        "degraded_steps",
        "unproven_steps",
        "isolation",
        "system",
        "model_traits",
    ),
    # paths
    *("changed", "deleted_files", "generated_files", "inputs", "left_behind", "modified_files", "not_captured", "path"),
    *(
        "fallback_plan",
        "paths",
        "protected",
        "protected_changes",
        "reads",
        "snapshot_excludes",
        "target_files",
        "workspace",
        "writes",
    ),
    *("fallback_plan", "folder", "left_out", "made", "missing", "restored", "undone"),
    # checks, conditions, rules and prices
    *("allow", "baseline", "deny", "expression", "json_schema", "pattern", "prices", "when"),
    # ids and hashes of conversations, drafts and undos
    *(
        "before",
        "call_id",
        "conversation",
        "draft",
        "forked_at",
        "from_step",
        "item",
        "items",
        "parent",
        "redoes",
        "request",
    ),
    *("result", "tools"),
}


def unmarked_texts(kind: type[Value], seen: set[type[Value]]) -> set[str]:
    """The names of the fields of a class, and of the values in it, that hold text without a mark."""
    if kind in seen:
        return set()
    seen.add(kind)
    found = set()
    for name, field in kind.model_fields.items():
        parts = [*field.metadata, *parts_of(field.annotation)]
        if (str in parts or Any in parts) and not any(isinstance(part, Secrecy) for part in parts):
            found.add(name)
        for part in parts:
            if isinstance(part, type) and issubclass(part, Value):
                found |= unmarked_texts(part, seen)
    return found


def parts_of(annotation: Any) -> list[Any]:
    inside = getattr(annotation, "__args__", ()) + getattr(annotation, "__metadata__", ())
    return [annotation, *(part for item in inside for part in parts_of(item))]


def test_every_text_in_an_event_is_marked_or_known_never_to_be_altered() -> None:
    seen: set[type[Value]] = set()
    found = {name for kind in e.KINDS for name in unmarked_texts(kind, seen)}
    assert found == NEVER_ALTERED


def test_only_free_text_is_redacted_when_it_is_stored() -> None:
    task = Task(text=BOTH, workspace=f"/{BOTH}", checks=(CommandCheck(command=BOTH),))
    created = e.RunCreated(run_id=TOKEN, task=task, config=ExecutionConfig(), model="m", surefoot="1")
    assert redacted_for_storage(created, REDACTOR) is created
    started = e.ActionStarted(action_id="a", step_id=TOKEN, tool="t", arguments={"path": BOTH})
    assert redacted_for_storage(started, REDACTOR) is started
    finished = e.ActionFinished(
        action_id="a", step_id="s", ok=True, summary=BOTH, changed=(BOTH,), data={"rows": [BOTH, 1], BOTH: None}
    )
    written = redacted_for_storage(finished, REDACTOR)
    assert written.summary == "[redacted github token] [redacted]"
    assert written.changed == (BOTH,)
    assert written.data == {"rows": [f"{TOKEN} [redacted]", 1], BOTH: None}, "later steps use it: formats are guesses"
    result = CheckResult(check=FileCheck(path=BOTH), passed=False, detail=BOTH, inputs={BOTH: "h"})
    failure = Failure(kind=FailureKind.TIMEOUT, message=BOTH, evidence=BOTH)
    step = e.StepFinished(step_id="s", status=StepStatus.FAILED, attempt=1, failure=failure, checks=(result,))
    kept = redacted_for_storage(step, REDACTOR)
    assert kept.failure is not None
    assert kept.failure.message == kept.checks[0].detail == "[redacted github token] [redacted]"
    assert kept.checks[0].check == result.check
    assert kept.checks[0].inputs == result.inputs


def test_known_values_are_hidden_where_an_event_is_shown() -> None:
    task = Task(text=BOTH, workspace=f"/{BOTH}", checks=(CommandCheck(command=BOTH),))
    created = e.RunCreated(run_id="r", task=task, config=ExecutionConfig(), model="m", surefoot="1")
    fields = exported(created, REDACTOR)
    assert fields["task"]["text"] == f"{TOKEN} [redacted]"
    assert fields["task"]["workspace"] == f"/{BOTH}"
    assert fields["task"]["checks"][0]["command"] == BOTH
    started = redacted_for_display(
        e.ActionStarted(action_id="a", step_id="s", tool="t", arguments={"path": TOKEN, "content": VALUE}), REDACTOR
    )
    assert started.arguments == {"path": TOKEN, "content": "[redacted]"}
    json.dumps(fields)


WITH_SECRETS = (e.Warned(message=BOTH), e.RunInterrupted(reason=BOTH), e.ControlReceived(command="skip", why=BOTH))


@pytest.mark.parametrize("event", WITH_SECRETS)
def test_redaction_is_the_same_the_second_time(event: e.Event) -> None:
    once = redacted_for_storage(event, REDACTOR)
    assert VALUE not in repr(once)
    assert redacted_for_storage(once, REDACTOR) is once
    assert redacted_for_display(once, REDACTOR) is once
