"""Before an action: is it allowed, or does a person have to say so? The answer is bound to exactly this action."""

import difflib
import hashlib
import json

from surefoot.consent import Effect, rule_on, suggested_rule
from surefoot.context import read_text
from surefoot.phases.proposal import Proposal
from surefoot.questions import TIMED_OUT, is_yes
from surefoot.run import Run
from surefoot.tools.base import Tool, Writes

_MOST_DIFF_LINES = 80


async def not_allowed(run: Run, step_id: str, proposal: Proposal) -> str:
    """Empty when the action may be done, else why not."""
    tool = run.toolbox.get(proposal.tool)
    config = run.config
    allow = (*config.allow, *run.state.allowed)
    ruling = rule_on(_effect(tool), tool.name, proposal.arguments, config.approve, allow, config.deny)
    if ruling == "allow":
        return ""
    if ruling == "deny":
        return "the user's rules do not allow this"
    answer = await run.ask_person(
        "approval",
        _request(run, tool, proposal),
        options=("yes", "no", *([f"always {rule}"] if (rule := suggested_rule(tool.name, proposal.arguments)) else [])),
        step_id=step_id,
        subject=_subject(run, proposal),
    )
    if is_yes(answer) or answer.startswith("always "):
        return ""
    if answer == TIMED_OUT:
        return f"nobody allowed this in time: {answer}"
    return f"the user said no: {answer}"


def _effect(tool: Tool) -> Effect:
    if tool.external or tool.network:
        return "external"
    return {Writes.NONE: "read", Writes.DECLARED: "edit", Writes.FREE: "command"}[tool.writes]  # type: ignore[return-value]


def _subject(run: Run, proposal: Proposal) -> str:
    """A hash of exactly what is asked about, and of when: an answer is good for one action, not for its repetition."""
    parts = [proposal.tool, proposal.arguments, proposal.body, run.state.tool_calls]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _request(run: Run, tool: Tool, proposal: Proposal) -> str:
    """The real arguments, the folder, the difference it makes, and why it is wanted."""
    lines = [f"{tool.name} in {run.root}"]
    lines += [f"  {name}: {value}" for name, value in proposal.arguments.items()]
    if proposal.body and "path" in proposal.arguments:
        lines += _difference(run, str(proposal.arguments["path"]), proposal.body)
    if proposal.thought:
        lines.append(f"why: {proposal.thought}")
    return "\n".join(lines)


def _difference(run: Run, path: str, body: str) -> list[str]:
    before = (read_text(run.root / path, 1_000_000) or "").splitlines()
    rows = list(difflib.unified_diff(before, body.splitlines(), path, path, lineterm="", n=2))
    if len(rows) > _MOST_DIFF_LINES:
        rows = [*rows[:_MOST_DIFF_LINES], f"... and {len(rows) - _MOST_DIFF_LINES} lines more"]
    return rows
