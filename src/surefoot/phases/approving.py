"""Before an action: is it allowed, or does a person have to say so? The answer is bound to exactly this action."""

import difflib
import hashlib
import json

from surefoot.consent import Effect, rule_on, suggested_rule
from surefoot.context import read_text
from surefoot.errors import ToolError
from surefoot.phases.proposal import Proposal
from surefoot.questions import TIMED_OUT, is_yes
from surefoot.run import Run
from surefoot.tools.base import Tool, Writes
from surefoot.tools.edit import edited

_MOST_DIFF_LINES = 80
_EFFECTS: dict[Writes, Effect] = {Writes.NONE: "read", Writes.DECLARED: "edit", Writes.FREE: "command"}


async def not_allowed(run: Run, step_id: str, proposal: Proposal, *, may_ask: bool = True) -> str:
    """Empty when the action may be done, else why not. Without `may_ask`, only what needs nobody's word may."""
    tool = run.toolbox.get(proposal.tool)
    config = run.config
    allow = (*config.allow, *run.state.allowed)
    ruling = rule_on(_effect(tool), tool.name, proposal.arguments, config.approve, allow, config.deny)
    if ruling == "allow":
        return ""
    if ruling == "deny":
        return "the user's rules do not allow this"
    if not may_ask:
        return "it needs a person's word"
    request = _request(run, tool, proposal)
    answer = await run.ask_person(
        "approval",
        request,
        options=("yes", "no", *([f"always {rule}"] if (rule := suggested_rule(tool.name, proposal.arguments)) else [])),
        step_id=step_id,
        subject=_subject(run, proposal, request),
    )
    if is_yes(answer) or answer.startswith("always "):
        return ""
    if answer == TIMED_OUT:
        return f"nobody allowed this in time: {answer}"
    return f"the user said no: {answer}"


def _effect(tool: Tool) -> Effect:
    if tool.external or tool.network:
        return "external"
    return _EFFECTS[tool.writes]


def _subject(run: Run, proposal: Proposal, request: str) -> str:
    """A hash of exactly what is asked about, as it is shown and as it will be done, and of when: an answer is good for
    one action, not for its repetition, nor for a file that has changed since."""
    parts = [proposal.tool, proposal.arguments, proposal.body, request, run.state.tool_calls]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _request(run: Run, tool: Tool, proposal: Proposal) -> str:
    """The real arguments, the folder, the difference it makes, and why it is wanted."""
    difference = _difference(run, tool, proposal)
    told_by_it = (tool.body_argument, *tool.instead_of_body) if difference else ()
    lines = [f"{tool.name} in {run.root}"]
    lines += [f"  {name}: {value}" for name, value in proposal.arguments.items() if name not in told_by_it]
    lines += difference
    if proposal.thought:
        lines.append(f"why: {proposal.thought}")
    return "\n".join(lines)


def _difference(run: Run, tool: Tool, proposal: Proposal) -> list[str]:
    """From the file as it is to the file as it would be; nothing for a tool that writes no file it names."""
    path, given = str(proposal.arguments.get("path", "")), proposal.arguments
    body = proposal.body or str(given.get(tool.body_argument, "")) if tool.body_argument else ""
    if not path or tool.name not in ("write_file", "edit_file"):
        return body.splitlines()
    before = read_text(run.root / path, 1_000_000) or ""
    try:
        after = body
        if tool.name == "edit_file":
            after = edited(path, before, body, str(given.get("search", "")), str(given.get("replace", "")))
    except ToolError as error:
        return [f"  edits that do not fit the file as it is: {error}", *body.splitlines()]
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2))
    if len(rows) > _MOST_DIFF_LINES:
        rows = [*rows[:_MOST_DIFF_LINES], f"... and {len(rows) - _MOST_DIFF_LINES} lines more"]
    return rows
