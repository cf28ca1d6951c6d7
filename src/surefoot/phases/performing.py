"""One action: its intent, its effect, its result. The intent is in the journal before the effect, and the result before
the next decision."""

import asyncio
import time
from operator import itemgetter
from typing import Any

from surefoot import events as e
from surefoot.errors import ToolError
from surefoot.phases.fingerprints import fingerprint
from surefoot.phases.proposal import Proposal
from surefoot.phases.taking_back import observed_changes
from surefoot.questions import TIMED_OUT
from surefoot.run import Run
from surefoot.state import ActionResults, StepRun
from surefoot.taskfiles import is_named_in
from surefoot.tools.base import Tool, ToolContext, ToolResult, Writes, call
from surefoot.values import unchecked
from surefoot.workspace.faults import as_text

_started, _finished = unchecked(e.ActionStarted), unchecked(e.ActionFinished)
_as_given = itemgetter("ok", "summary", "output", "command", "data", "temporary")


async def perform(run: Run, mine: StepRun, proposal: Proposal, *, checked: bool = True) -> None:
    """`checked`: programs or a model look at the result before it counts."""
    run.check_budget()
    step_id = mine.step.id
    tool = run.toolbox.get(proposal.tool)
    arguments = dict(proposal.arguments)
    action_id = f"{step_id}.a{run.state.tool_calls + 1}"
    snapshot = await run.snapshot() if tool.writes is not Writes.NONE else ""
    body_hash = run.services.journal.put_blob(proposal.body.encode()) if proposal.body else ""
    if proposal.thought:
        run.note(e.Decided(step_id=step_id, decision="act", thought=proposal.thought))
    begun = _started(
        action_id=action_id,
        step_id=step_id,
        tool=tool.name,
        arguments=arguments,
        body=body_hash,
        fingerprint=fingerprint(tool.name, arguments, proposal.body),
        snapshot=snapshot,
        external=tool.external,
    )
    if tool.leaves_nothing:
        # There would be nothing to find or undo after a crash: the intent may share the result's transaction.
        run.note(begun)
    else:
        await run.record(begun)
    started = time.perf_counter()
    result = await call_tool(run, tool, action_id, arguments, proposal.body)
    ok, summary, whole, command, data, temporary = _as_given(vars(result))
    # What the summary shows whole is in the journal already.
    output = run.services.journal.put_blob(whole.encode()) if whole and whole != summary else ""
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
    if not checked and not mine.snapshot:
        # The one action of a step that nothing is left to look at: its end is the step's, written in the next moment.
        run.note(finished)
    else:
        await run.record(finished)


async def changed_by(run: Run, tool: Tool, arguments: dict[str, Any], snapshot: str) -> tuple[str, ...]:
    if tool.writes is not Writes.FREE:
        return observed_changes(run, tool, arguments, snapshot)
    changed = await asyncio.to_thread(observed_changes, run, tool, arguments, snapshot)
    return tuple(map(as_text, changed))


async def call_tool(run: Run, tool: Tool, action_id: str, arguments: dict[str, Any], body: str) -> ToolResult:
    if tool.body_argument and body:
        arguments = {**arguments, tool.body_argument: body}
    if run.context is None:
        run.context = tool_context(run)
    try:
        return await call(tool, run.context.for_action(action_id), arguments)
    except ToolError as error:
        text = f"{error}" + (f"\n{error.remedy}" if error.remedy else "")
        return ToolResult(ok=False, summary=text, temporary=error.temporary)
    finally:
        run.verifier.after_call(tool)


def tool_context(run: Run) -> ToolContext:
    journal, results = run.services.journal, ActionResults(run.state)

    async def ask(question: str) -> str:
        answer = await run.ask_person("clarification", question)
        if answer == TIMED_OUT:
            raise ToolError("nobody answered in time: timed out", remedy="go on without it, or do something else")
        return answer

    def may_rewrite(path: str) -> bool:
        """What the task names is meant; what this run made is its own."""
        return is_named_in(path, run.task.text) or path not in run.files_before()

    return ToolContext(
        root=run.root,
        protected=frozenset(run.state.protected),
        may_rewrite=may_rewrite,
        sandbox=run.sandbox,
        network=run.config.network,
        redact=run.services.redact,
        command_timeout=run.config.command_timeout_seconds,
        command_processes=run.config.command_processes,
        command_memory_bytes=run.config.command_memory_bytes,
        read_blob=lambda key: results.inline(key) or journal.get_blob(key),
        results=results,
        step_outputs=run.artifacts,
        ask=ask,
        on_output=run.services.bus.text,
        summary_chars=1_600 if run.model.traits.small else 4_000,
        read_chars=4_000 if run.model.traits.small else 16_000,
    )
