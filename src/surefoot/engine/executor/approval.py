"""Decides before an action whether it is allowed, or asks a person. The answer is bound to exactly this action."""

import contextlib
import difflib
import hashlib
import json
from dataclasses import replace
from typing import NamedTuple

from surefoot.core.policy.addresses import is_private_host, parse_address
from surefoot.core.policy.rules import Effect, Ruling, names_host, rule_on, suggested_rule
from surefoot.core.questions import ALWAYS, EDIT, TIMED_OUT, is_yes
from surefoot.engine.executor.proposed import Proposed, store
from surefoot.engine.runtime.run import Run
from surefoot.errors import ToolError
from surefoot.journal.redact import neutralise
from surefoot.prompting.context import read_text
from surefoot.prompting.proposal import Proposal
from surefoot.tools.builtin.edit import edited
from surefoot.tools.context import Hop
from surefoot.tools.fs.paths import resolved_arguments
from surefoot.tools.text.patch import read_patch
from surefoot.tools.tool import Tool, Writes

_MAX_DIFF_LINES = 80
_FETCH = "http_get"
_DENIED = "the user's rules do not allow this"
_PATCH_TOOLS = {"add": "write_file", "update": "edit_file", "delete": "delete_file"}
_EFFECTS: dict[Writes, Effect] = {Writes.NONE: "read", Writes.DECLARED: "edit", Writes.FREE: "command"}


class Review(NamedTuple):
    proposal: Proposal
    """The action to carry out: as proposed, or as a person has edited it."""
    refusal: str = ""
    """Why it is not allowed; empty if it is."""


async def refusal_of(run: Run, step_id: str, proposal: Proposal, *, may_ask: bool = True) -> str:
    """Return why an action is not allowed; empty if it is. Without `may_ask`, nobody is asked for approval."""
    return (await review(run, step_id, proposal, may_ask=may_ask, may_edit=False)).refusal


async def review(
    run: Run,
    step_id: str,
    proposal: Proposal,
    *,
    may_ask: bool = True,
    may_edit: bool = True,
    proposed: Proposed | None = None,
) -> Review:
    """Decide by the rules and the policy whether an action may be carried out, or ask a person.

    `proposed` is stored with the question.
    """
    tool = run.toolbox.get(proposal.tool)
    ruling = _ruling(run, tool, proposal)
    if ruling == "deny":
        return Review(proposal, _DENIED)
    changed = await tool.consent.question() if tool.consent is not None else ""
    if changed and run.config.approve == "never":
        return Review(proposal, f"approvals are switched off in this run, and {changed}")
    if ruling == "allow" and not changed:
        return Review(proposal)
    if not may_ask:
        return Review(proposal, "it needs a person's approval")
    request = _request(run, tool, proposal, changed)
    rule = _rule(tool, proposal)
    draft = _draft(run, tool, proposal) if may_edit else ""
    answer = await run.human.ask(
        "approval",
        request,
        options=("yes", "no", *([f"{ALWAYS}{rule}"] if rule else []), *(["edit"] if draft else [])),
        step_id=step_id,
        subject=_subject(run, step_id, proposal, request),
        draft=draft,
        proposed=store(run, proposed) if proposed is not None else "",
    )
    if is_yes(answer) or (rule and answer == ALWAYS + rule):
        if tool.consent is not None:
            tool.consent.given()
        return Review(proposal)
    if draft and answer.startswith(EDIT):
        edited_proposal = _edited(proposal, answer.removeprefix(EDIT))
        denied = _ruling(run, run.toolbox.get(edited_proposal.tool), edited_proposal) == "deny"
        return Review(edited_proposal, _DENIED if denied else "")
    return Review(proposal, _refusal(answer))


def _refusal(answer: str) -> str:
    return "nobody answered in time, so it is not allowed" if answer == TIMED_OUT else f"the user said no: {answer}"


def _ruling(run: Run, tool: Tool, proposal: Proposal) -> Ruling:
    if tool.name == "apply_patch":
        return _patch_ruling(run, str(proposal.arguments.get("patch", "")))
    config, arguments = run.config, dict(proposal.arguments)
    if tool.body_argument and proposal.body:
        arguments[tool.body_argument] = proposal.body
    allow = (*config.allow, *run.state.allowed)
    resolved = resolved_arguments(run.root, arguments, (*tool.path_arguments, "path"))
    return rule_on(_effect(tool), tool.name, arguments, config.approve, allow, config.deny, resolved=resolved)


def _rule(tool: Tool, proposal: Proposal) -> str:
    """Return the rule that a person can add; empty if there is none. A patch has one if it writes a single file."""
    if tool.name != "apply_patch":
        return suggested_rule(tool.name, proposal.arguments)
    paths = tool.written_paths(proposal.arguments)
    return suggested_rule(tool.name, {"path": paths[0]}) if len(paths) == 1 else ""


def _patch_ruling(run: Run, patch: str) -> Ruling:
    """Rule on a patch by what it does to each file, and by the rules for patches. The strictest ruling counts."""
    config, allow = run.config, (*run.config.allow, *run.state.allowed)
    try:
        sections = read_patch(patch)
    except ToolError:
        return rule_on("edit", "apply_patch", {}, config.approve, allow, config.deny)
    rulings: list[Ruling] = []
    for section in sections:
        calls = [(_PATCH_TOOLS[section.kind], {"path": section.path})]
        if section.move_to:
            calls.append(("move_file", {"source": section.path, "target": section.move_to}))
        for name, arguments in calls:
            resolved = resolved_arguments(run.root, arguments, arguments)
            either = {
                rule_on("edit", tool, arguments, config.approve, allow, config.deny, resolved=resolved)
                for tool in (name, "apply_patch")
            }
            rulings.append("deny" if "deny" in either else "allow" if "allow" in either else "ask")
    return "deny" if "deny" in rulings else "ask" if "ask" in rulings else "allow"


def _draft(run: Run, tool: Tool, proposal: Proposal) -> str:
    """Return the text that a person may edit: a command, code, or the new content of a file; empty if there is none."""
    arguments = proposal.arguments
    match tool.name:
        case "run_command":
            return str(arguments.get("command", ""))
        case "apply_patch":
            return str(arguments.get("patch", ""))
        case "run_python" | "write_file":
            return proposal.body or str(arguments.get(tool.body_argument, ""))
        case "edit_file" if "write_file" in run.toolbox:
            with contextlib.suppress(ToolError):
                return _after_edit(run, tool, proposal)[1]
    return ""


def _edited(proposal: Proposal, text: str) -> Proposal:
    """Return the action with a person's text in place of the draft. An edit becomes a write of the whole file."""
    if proposal.tool == "run_command":
        return replace(proposal, arguments={**proposal.arguments, "command": text}, edited=True)
    if proposal.tool == "apply_patch":
        return replace(proposal, arguments={"patch": text}, edited=True)
    arguments = {name: value for name, value in proposal.arguments.items() if name == "path"}
    tool = "run_python" if proposal.tool == "run_python" else "write_file"
    return replace(proposal, tool=tool, arguments=arguments, body=text, edited=True)


async def hop_refusal(run: Run, step_id: str, hop: Hop) -> str:
    """Rule on a request to a server that a fetched address leads to. Returns why it is refused; empty if it is allowed.

    The host of the call itself was approved. Another host, and any address that is not public, needs its own rule or a
    person's approval.
    """
    config, allow, arguments = run.config, (*run.config.allow, *run.state.allowed), {"url": hop.url}
    ruling = rule_on("external", _FETCH, arguments, config.approve, allow, config.deny)
    if ruling == "deny":
        return _DENIED
    host = _host(hop.url)
    if hop.private:
        as_written = not hop.redirected_from and is_private_host(host)
        if as_written or names_host(hop.url, _FETCH, allow):
            return ""
    elif ruling == "allow" or host == _host(hop.redirected_from):
        return ""
    if config.approve == "never":
        return _DENIED
    reason = f"it is a {hop.private} address" if hop.private else "it is another server than the one that was approved"
    rows = [f"{_FETCH} in {run.root}", *([f"  from: {hop.redirected_from}"] if hop.redirected_from else [])]
    rows += [f"  url: {hop.url}", f"  address: {hop.address}", f"why you are asked: {reason}"]
    rule = suggested_rule(_FETCH, arguments)
    answer = await run.human.ask(
        "approval",
        neutralise("\n".join(rows)),
        options=("yes", "no", *([f"{ALWAYS}{rule}"] if rule else [])),
        step_id=step_id,
        subject=f"hop:{hop.redirected_from}:{hop.url}:{hop.address}",
    )
    return "" if is_yes(answer) or (rule and answer == ALWAYS + rule) else _refusal(answer)


def _host(url: str) -> str:
    address = parse_address(url)
    return address.host if address else ""


def _effect(tool: Tool) -> Effect:
    if tool.external or tool.network:
        return "external"
    return _EFFECTS[tool.writes]


def _subject(run: Run, step_id: str, proposal: Proposal, request: str) -> str:
    """Hash an action as it is shown and as it will be carried out, with the number of earlier actions of the step.

    An approval is valid for one action: not for its repetition, nor for a file that has changed since. Actions of other
    steps do not count.
    """
    parts = [proposal.tool, proposal.arguments, proposal.body, request, run.state.steps[step_id].begun_actions]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _request(run: Run, tool: Tool, proposal: Proposal, changed: str = "") -> str:
    """Describe an action: its real arguments, the folder, the diff, what changed about the tool, the model's reason."""
    diff = _diff(run, tool, proposal)
    shown_in_diff = (tool.body_argument, *tool.instead_of_body) if diff else ()
    lines = [f"{tool.name} in {run.shown_folder}"]
    lines += [f"  {name}: {value}" for name, value in proposal.arguments.items() if name not in shown_in_diff]
    if is_private_host(_host(str(proposal.arguments.get("url", "")))):
        lines.append("  note: this is a private address, of this machine or of its network")
    lines += diff
    lines += [f"note: {changed}"] if changed else []
    if proposal.thought:
        lines.append(f"why: {proposal.thought}")
    return neutralise("\n".join(lines))


def _diff(run: Run, tool: Tool, proposal: Proposal) -> list[str]:
    """Return the diff of a file write or edit; for other tools the lines of the body."""
    path = str(proposal.arguments.get("path", ""))
    body = _body(tool, proposal)
    if not path or tool.name not in ("write_file", "edit_file"):
        return body.splitlines()
    try:
        before, after = _after_edit(run, tool, proposal)
    except ToolError as error:
        return [f"  edits that do not fit the file as it is: {error}", *body.splitlines()]
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2))
    if len(rows) > _MAX_DIFF_LINES:
        rows = [*rows[:_MAX_DIFF_LINES], f"... and {len(rows) - _MAX_DIFF_LINES} lines more"]
    return rows


def _after_edit(run: Run, tool: Tool, proposal: Proposal) -> tuple[str, str]:
    """Return the content of the file before a write or edit and after it. Raises ToolError if the edits do not fit."""
    path, arguments, body = str(proposal.arguments.get("path", "")), proposal.arguments, _body(tool, proposal)
    before = read_text(run.root, path, 1_000_000) or ""
    if tool.name != "edit_file":
        return before, body
    search, replacement = str(arguments.get("search", "")), str(arguments.get("replace", ""))
    return before, edited(path, before, body, search, replacement, replace_all=bool(arguments.get("replace_all"))).text


def _body(tool: Tool, proposal: Proposal) -> str:
    return proposal.body or str(proposal.arguments.get(tool.body_argument, "")) if tool.body_argument else ""
