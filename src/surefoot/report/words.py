"""The texts of a report for Markdown and for readers without JavaScript, from its document. Pure."""

import time
from dataclasses import dataclass
from typing import Any, cast

from surefoot.core.outcome import Verdict
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import Rung, StepStatus
from surefoot.report.document import FinalCheck, Omission, Recovery, Report
from surefoot.view.figures import count, duration, format_cost
from surefoot.view.labels import RUNG_LABELS, STEP_LABELS, UNPROVEN, done_label, proof_label
from surefoot.view.rows import QuestionRow, RevisionRow, RunRow, StepRow, Tokens

_LETTERS = {level.letter: level for level in ProofLevel}
_STATUS = {
    "running": "Still running",
    "waiting": "Waiting for a person",
    "paused": "Paused",
    "interrupted": "Interrupted",
    "queued": "Waiting for a worker",
    "plan": "Plan made, not carried out",
    "failed": "Failed",
    "done": "Done",
}
_DONE = (Verdict.VERIFIED, Verdict.UNVERIFIED)
_SIGNS = {"red": "red", "green": "green", None: "not run"}
_OMITTED = {
    "outputs": "{n} left out for their size ({size} characters)",
    "output_middles": "the middle of {n} ({size} characters)",
    "binary_outputs": "{n} that are not text",
    "lost_outputs": "{n} that are no longer stored",
    "messages": "{n} of the conversation ({size} characters)",
    "message_ends": "the ends of {n} of the conversation ({size} characters)",
    "diffs": "{n} of files",
    "patches": "the ends of {n} ({size} lines)",
    "actions": "{n}, the oldest",
    "texts": "the middle of {n} ({size} characters)",
    "tool_files": "{n} of version control and of tools, such as caches",
}
_NOUNS = {
    "outputs": "output",
    "output_middles": "output",
    "binary_outputs": "output",
    "lost_outputs": "output",
    "messages": "message",
    "message_ends": "message",
    "diffs": "difference",
    "patches": "difference",
    "actions": "action",
    "texts": "long text",
    "tool_files": "changed file",
}


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """The texts of a report, as plain text. The caller has to escape them."""

    report: Report

    @property
    def run(self) -> RunRow:
        return cast(RunRow, self._rows("run")[0])

    @property
    def steps(self) -> list[StepRow]:
        return [cast(StepRow, row) for row in self._rows("step") if cast(StepRow, row)["revision_removed"] is None]

    @property
    def questions(self) -> list[QuestionRow]:
        """The open questions."""
        return [row for row in self._rows("question") if row["answer"] is None]

    @property
    def revisions(self) -> list[RevisionRow]:
        """The changes of the plan, without the first revision, which is the plan itself."""
        return [cast(RevisionRow, row) for row in self._rows("revision")][1:]

    def _rows(self, kind: str) -> list[Any]:
        return [row for row in self.report["rows"] if row["kind"] == kind]

    @property
    def verdict(self) -> str:
        run, undone = self.run, self.report["undone"]
        if undone and run["status"] != "plan":
            if undone.get("review_taken_back"):
                return "Review taken back"
            return "Partly undone" if undone["partial"] else "Undone"
        if run["verdict"] is None or run["status"] == "plan":
            return _STATUS.get(run["status"], run["status"])
        return done_label(Verdict(run["verdict"]), run["summary"], by_own_tests=run["proof"] == "B")

    @property
    def proof(self) -> str:
        """The level of proof in words; empty for a run that is not done."""
        letter = self.run["proof"]
        is_done = self.run["verdict"] in _DONE and self.run["status"] != "plan"
        if not letter or not is_done:
            return ""
        return f"{letter}: {proof_label(_LETTERS[letter], (check['origin'] for check in self.report['checks']))}"

    @property
    def summary(self) -> str:
        """The outcome in one sentence; empty if the diagnosis says the same."""
        diagnosis, undone = self.run["diagnosis"], self.report["undone"]
        if diagnosis and diagnosis["what_failed"] == self.run["summary"]:
            return ""
        if undone and undone.get("review_taken_back"):
            return ""  # the summary is about the review
        return (
            f"Before that: {self.run['summary']}" if self.is_outdated and self.run["summary"] else self.run["summary"]
        )

    @property
    def diagnosis(self) -> Any:
        """Why the run failed; None if it did not, or if the diagnosis is about a review that was taken back."""
        undone = self.report["undone"]
        return None if undone and undone.get("review_taken_back") else self.run["diagnosis"]

    @property
    def is_outdated(self) -> bool:
        """Whether the outcome is about an earlier tree: the run was undone since, and the checks did not run again."""
        undone = self.report["undone"]
        return bool(undone and not undone.get("checked"))

    @property
    def state(self) -> str:
        """A sentence that says that the run has not ended, or that it was undone; else empty."""
        undone = self.report["undone"]
        if undone:
            by = f" by {undone['by']}" if undone["by"] else ""
            when = f"on {timestamp(undone['at'])}{by}"
            if undone.get("review_taken_back"):
                return f"The review was taken back {when}. The result is as it was before it, and not checked since."
            return f"The changes were undone {when}."
        if self.report["ended"]:
            return ""
        return f"The run had not ended when this report was written, on {self.written}."

    @property
    def written(self) -> str:
        return timestamp(self.report["generated_at"])

    @property
    def spent(self) -> str:
        """`12s, 3 model calls, 5 tool calls, 12,345 + 678 tokens, $0.02`."""
        run = self.run
        calls = (count(run["calls"]["model"], "model call"), count(run["calls"]["tool"], "tool call"))
        parts = [duration(run["active_seconds"]), *calls, tokens(run["tokens"])]
        return ", ".join([*parts, *([cost(run["cost_usd"])] if run["calls"]["model"] else [])])

    @property
    def pushed(self) -> list[str]:
        """`0123456789 to fix/login of https://example.com/a.git`, for each push."""
        return [f"{push['commit'][:10]} to {push['branch']} of {push['address']}" for push in self.report["pushes"]]

    @property
    def lost(self) -> str:
        """What the failed attempts cost; empty if there were none."""
        failed = self.report["recoveries"]
        if not failed:
            return ""
        total: Tokens = {
            "prompt": sum(each["tokens"]["prompt"] for each in failed),
            "output": sum(each["tokens"]["output"] for each in failed),
            "cached": sum(each["tokens"]["cached"] for each in failed),
        }
        costs = [each["cost_usd"] for each in failed]
        dollars = None if None in costs else sum(each for each in costs if each is not None)
        seconds = duration(sum(each["seconds"] for each in failed))
        asked = sum(each["calls"] for each in failed)
        return f"{count(len(failed), 'failed attempt')}: {seconds}, {tokens(total)}" + (
            f", {cost(dollars)}" if asked else ""
        )

    def step_state(self, step: StepRow) -> str:
        if step["healed"]:
            return f"recovered, attempt {step['attempt']}"
        if step["id"] in {question["step"] for question in self.questions}:
            return "waiting for a person"
        return UNPROVEN if step["id"] in self.report["unproven_steps"] else STEP_LABELS[StepStatus(step["status"])]

    def left_out(self) -> list[str]:
        return [omission(item) for item in self.report["omitted"]]


def check_flow(check: FinalCheck) -> str:
    """`red → green`."""
    return f"{_SIGNS[check['before']]} → {_SIGNS[check['now']]}"


def failing_outputs(checks: list[FinalCheck]) -> list[str]:
    """The output of each check, empty for one that does not fail. Output of an earlier check is not repeated."""
    first: dict[str, str] = {}
    outputs = []
    for check in checks:
        detail = check["detail"] if check["now"] == "red" else ""
        same = first.setdefault(detail, check["label"])
        outputs.append(detail if not detail or same == check["label"] else f"for the same reason as {same}")
    return outputs


def step_flow(step: StepRow) -> str:
    """The results of a step's checks before it and now."""
    flows = [f"{_SIGNS[check['before']]} → {_SIGNS[check['now']]}" for check in step["checks"]]
    return ", ".join(
        f"{flows.count(flow)} × {flow}" if flows.count(flow) > 1 else flow for flow in dict.fromkeys(flows)
    )


def step_seconds(step: StepRow) -> str:
    begin, end = step["started_at"], step["ended_at"]
    return duration(end - begin) if begin is not None and end is not None else ""


def rung(recovery: Recovery) -> str:
    chosen = RUNG_LABELS[Rung(recovery["rung"])] if recovery["rung"] else "none"
    return f"{chosen}; undone" if recovery["rolled_back"] else chosen


def tokens(used: Tokens) -> str:
    cached = f" ({used['cached']:,} cached)" if used["cached"] else ""
    return f"{used['prompt']:,}{cached} + {used['output']:,} tokens"


def cost(dollars: float | None) -> str:
    return format_cost(dollars or 0.0, dollars is None)


def omission(item: Omission) -> str:
    text = _OMITTED[item["what"]]
    return text.format(n=count(item["count"], _NOUNS[item["what"]]), size=f"{item['size']:,}")


def timestamp(at: float) -> str:
    """A time in UTC, because a report may be read in another time zone."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
