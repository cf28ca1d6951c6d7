"""Carries out one action. Its intent is recorded before its effect, and its result before the next decision."""

import asyncio
import time
from functools import partial
from operator import itemgetter
from typing import Any

from surefoot.core.values import unchecked
from surefoot.engine.executor.approval import hop_refusal
from surefoot.engine.reflector.restore import observed_changes
from surefoot.engine.runtime.run import Run
from surefoot.errors import ToolError
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.redacted_stream import RedactedStream
from surefoot.journal.state import StepRun
from surefoot.prompting.proposal import Proposal
from surefoot.tools.builtin.python import run_python
from surefoot.tools.builtin.shell import run_command
from surefoot.tools.invoke import call
from surefoot.tools.tool import Tool, ToolResult, Writes
from surefoot.workspace.errors import as_text
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap

_started, _finished = unchecked(e.ActionStarted), unchecked(e.ActionFinished)
_EDIT_CHARS = 2_000
_fields_of = itemgetter("ok", "summary", "output", "command", "data", "temporary")


async def perform(run: Run, step_run: StepRun, proposal: Proposal, *, checked: bool = True) -> None:
    """Carry out a proposal. `checked`: checks or a model look at the result before it counts."""
    run.budget.check()
    step_id = step_run.step.id
    tool = run.toolbox.get(proposal.tool)
    arguments = dict(proposal.arguments)
    action_id = f"{step_id}.a{run.state.tool_calls + 1}"
    snapshot = await run.snapshot(quick=_is_watched(run, tool)) if tool.writes is not Writes.NONE else ""
    body_hash = run.journal.put_blob(proposal.body.encode()) if proposal.body else ""
    if proposal.thought:
        run.note(e.Decided(step_id=step_id, decision="act", thought=proposal.thought))
    intent = _started(
        action_id=action_id,
        step_id=step_id,
        tool=tool.name,
        arguments=arguments,
        body=body_hash,
        fingerprint=proposal.fingerprint,
        snapshot=snapshot,
        external=tool.external,
        call_id=proposal.call_id,
    )
    if tool.is_read_only:
        # A crash would leave nothing to undo, so the intent may share the transaction of the result.
        run.note(intent)
    else:
        await run.record(intent)
    started = time.perf_counter()
    result = await call_tool(run, tool, action_id, arguments, proposal.body)
    ok, summary, whole, command, data, temporary = _fields_of(vars(result))
    # An output that the summary shows in full is in the journal already.
    output = run.recorder.put_output(whole) if whole and whole != summary else ""
    if proposal.edited:
        summary = f"{_edit_note(proposal)}\n{summary}"
    finished = _finished(
        action_id=action_id,
        step_id=step_id,
        ok=ok,
        summary=summary,
        output=output,
        duration_ms=round((time.perf_counter() - started) * 1000),
        command=command,
        data=data,
        temporary=temporary,
        changed=await changed_by(run, tool, arguments, snapshot) if snapshot else (),
    )
    if not checked and not step_run.snapshot:
        # No check follows, so the end of the step is recorded next, in the same transaction.
        run.note(finished)
    else:
        await run.record(finished)


def _edit_note(proposal: Proposal) -> str:
    """Return a note that tells the model how a person has changed its call."""
    now = proposal.arguments.get("command") or proposal.arguments.get("patch") or proposal.body
    return f"The user changed this call before it was carried out, to {proposal.tool}:\n{str(now)[:_EDIT_CHARS]}"


async def changed_by(run: Run, tool: Tool, arguments: dict[str, Any], snapshot: str) -> tuple[str, ...]:
    """Return the paths that a call changed."""
    if tool.writes is not Writes.FREE:
        return observed_changes(run, tool, arguments, snapshot)
    quick = _is_watched(run, tool)
    changed = await asyncio.to_thread(observed_changes, run, tool, arguments, snapshot, quick=quick)
    return tuple(map(as_text, changed))


def _is_watched(run: Run, tool: Tool) -> bool:
    """Whether every change that a call makes in the workspace has caused a file event by the time it ends.

    A tool that declares its files writes them by name. The processes of a command have ended, which closes their files,
    and bubblewrap keeps them from linking files of the workspace to another place. Other tools may do so, so the whole
    tree is scanned before and after them.
    """
    if tool.writes is Writes.DECLARED:
        return True
    return tool in (run_command, run_python) and isinstance(run.sandbox, Bubblewrap)


async def call_tool(run: Run, tool: Tool, action_id: str, arguments: dict[str, Any], body: str) -> ToolResult:
    """Call a tool. Its errors become failed results."""
    if tool.body_argument and body:
        arguments = {**arguments, tool.body_argument: body}
    context = run.tool_context.for_action(action_id, partial(hop_refusal, run, action_id.rpartition(".")[0]))
    stream = None
    if tool.writes is Writes.FREE:
        source = Source("output", action_id.rpartition(".")[0], f"action:{action_id}")
        stream = RedactedStream(run.redactor, run.bus.writer(source))
        context.on_output = stream.feed
    try:
        return await call(tool, context, arguments)
    except ToolError as error:
        text = f"{error}" + (f"\n{error.remedy}" if error.remedy else "")
        return ToolResult(ok=False, summary=text, temporary=error.temporary)
    finally:
        if stream is not None:
            stream.flush()
        run.verifier.after_call(tool)
