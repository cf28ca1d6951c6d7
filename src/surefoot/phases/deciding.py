"""What to do next inside a step. The model is asked only what cannot be told without it: a step that writes one file
needs no decision about tools, just the file."""

from collections.abc import Sequence
from dataclasses import replace

from surefoot.artifacts import handed_on
from surefoot.asking import ask_read, ask_text
from surefoot.context import briefing, budget_chars, plan_text, quoted, quoted_files, read_text, step_text
from surefoot.drafts import StepDecision, schema_of
from surefoot.errors import UnknownTool, UnreadableAnswer
from surefoot.models.base import ModelReply
from surefoot.models.reading import find_body, read_control, read_fenced, read_json
from surefoot.outcome import CheckResult, FailureKind
from surefoot.outline import LEFT_OUT, outline
from surefoot.phases.answering import answers_freely, free_answer, plain_question, refusal_in
from surefoot.phases.computing import is_result, program_for
from surefoot.phases.performing import tool_context
from surefoot.phases.proposal import Proposal
from surefoot.phases.revising import revise
from surefoot.plan import ExecutionStep
from surefoot.prompts import render
from surefoot.reflection import says_missing
from surefoot.run import Run
from surefoot.state import StepRun
from surefoot.tools.matching import read_blocks

WHOLE_FILE_LINES = 150
"""Longer files are changed by search and replace, shorter ones are written anew."""


async def next_proposals(run: Run, mine: StepRun, results: Sequence[CheckResult]) -> list[Proposal]:
    """One thing to do, or what one answer says all together."""
    if is_one_answer(run, mine.step):
        return await in_one_answer(run, mine, results, temperature(run, mine))
    return [await _decide(run, mine, results)]


def is_one_answer(run: Run, step: ExecutionStep) -> bool:
    """Whether a step is done by one answer, which can be judged as a whole."""
    return len(step.writes) == 1 or answers_freely(run, step)


async def in_one_answer(
    run: Run, mine: StepRun, results: Sequence[CheckResult], warmth: float, *, anew: bool = False
) -> list[Proposal]:
    """`anew`: a small model is asked for a file in other words, and without sight of the code that is wrong."""
    if answers_freely(run, mine.step):
        # That what is still to be made is not there says nothing, and is taken for part of the task.
        there = not any(says_missing(result.detail) for result in results if not result.passed)
        return await free_answer(run, mine, what_fails(mine, results, there=there), warmth)
    path = mine.step.writes[0]
    if is_result(run, mine.step):
        return [await program_for(run, mine, path, what_failed(mine, results), warmth)]
    return [await _file_body(run, mine, path, results, warmth, anew=anew)]


def named_call(mine: StepRun) -> Proposal:
    """What a step says by itself that is to be called, with what earlier tries changed about it."""
    return Proposal("act", mine.tool or mine.step.tool, {**mine.step.parameters, **mine.parameters})


# -- a step that writes one file -----------------------------------------------------------------------------------


async def _file_body(
    run: Run,
    mine: StepRun,
    path: str,
    results: Sequence[CheckResult],
    warmth: float,
    *,
    anew: bool = False,
) -> Proposal:
    """The model writes the file anew, or edits it when it is long."""
    current = read_text(run.root / path, budget_chars(run))
    long = current is not None and current.count("\n") > WHOLE_FILE_LINES
    plain = run.model.traits.small and not long
    if plain:
        asked = _plainly(run, mine, path, current or "", results, anew=anew)
    else:
        asked = _in_full(run, mine, path, current, results, "edit" if long else "write")
    reply = await ask_text(
        run,
        "edit" if long else "write",
        asked,
        step_id=mine.step.id,
        temperature=warmth,
        bare=plain,
    )
    if long and read_blocks(reply.text):
        return Proposal("act", "edit_file", {"path": path}, reply.text)
    body = read_fenced(reply.text, path)
    if body is None and plain and (refusal := refusal_in(reply.text)):
        return refusal
    if body is None:
        wanted = "no search/replace block and no fenced block" if long else "no fenced code block"
        raise UnreadableAnswer(f"the answer has {wanted} for {path}", answer=reply.text)
    if reply.finish_reason == "length":
        raise UnreadableAnswer(f"the answer was cut off before {path} was complete", answer=reply.text)
    return Proposal("act", "write_file", {"path": path}, body if body.endswith("\n") else body + "\n")


def _plainly(run: Run, mine: StepRun, path: str, current: str, results: Sequence[CheckResult], *, anew: bool) -> str:
    """What was learnt from earlier attempts is left out: it would be about answers that are not shown."""
    failed = what_fails(mine, results, there=bool(current))
    if not anew:
        return plain_question(run, mine, failed, render("do"))
    if rest := outline(current, run.task.text + failed):
        instead = quoted(path, current), quoted(f"{path} without what is wrong", rest)
        return plain_question(run, mine, "", render("file", path=path, hint=_FILL_IN), instead)
    return plain_question(run, mine, failed, render("file", path=path, hint=""))


def _in_full(
    run: Run, mine: StepRun, path: str, current: str | None, results: Sequence[CheckResult], prompt: str
) -> str:
    asked = render(
        prompt,
        step=step_text(mine.step),
        context=handed_on(run, mine.step.id) + _other_files(run, mine, path),
        current=_current(run, path, current),
        failed=what_failed(mine, results, there=bool(current)),
        path=path,
        hint=_hint(mine),
    )
    return f"{briefing(run)}\n\n{asked}"


def _other_files(run: Run, mine: StepRun, path: str) -> str:
    """Files that earlier steps wrote: the briefing was made before they were there."""
    written = [
        name
        for r in run.state.steps.values()
        if r.written and r is not mine
        for name in (*r.written.generated_files, *r.written.modified_files)
    ]
    return quoted_files(run.root, [p for p in dict.fromkeys(written) if p != path], budget_chars(run) // 4)


def _current(run: Run, path: str, text: str | None) -> str:
    """The file, unless the briefing shows it as it is: what is read twice is copied the more."""
    if not text or not text.strip() or quoted(path, text) in briefing(run):
        return ""
    return quoted(f"{path} as it is now", text)


_FILL_IN = f"Where it says `{LEFT_OUT}` the old code was wrong: write that anew, so that the checks pass."


def _hint(mine: StepRun) -> str:
    if mine.kept:
        return "Keep what works in it, and mend what fails."
    if mine.attempt > 1:
        return "Earlier versions failed: start afresh, in another way."
    return ""


def temperature(run: Run, mine: StepRun) -> float:
    """First attempts are cool, later ones vary on purpose, also those of a new plan; a refused repeat is warmed up at
    once."""
    earlier = mine.attempt - 1 + run.state.replans + run.state.approach_index
    return min(0.35 * earlier + 0.4 * mine.refusals, 1.0)


def what_failed(mine: StepRun, results: Sequence[CheckResult], *, there: bool = False) -> str:
    """What the next try must not ignore: the failing part of the checks, and what earlier attempts taught."""
    failed = what_fails(mine, results, there=there)
    if not mine.notes:
        return failed
    learnt = "\n".join(f"- {note}" for note in dict.fromkeys(mine.notes[-3:]))
    return f"{failed}\n# Learnt from earlier attempts\n{learnt}\n"


def what_fails(mine: StepRun, results: Sequence[CheckResult], *, there: bool) -> str:
    """`there`: what is to be mended is there already, so what is wrong with it is worth knowing from the first."""
    lines: list[str] = []
    red = [r for r in results if not r.passed]
    refuted = bool(mine.failures) and mine.failures[-1].kind is FailureKind.REFUTED
    if red and (there or mine.actions or refuted or mine.kept):
        lines.append("\n# It fails now")
        lines += [f"{r.check.label}\n{r.detail.strip()}" for r in red[:2]]
    if mine.refused:
        lines.append("\n# Refused, do something else")
        lines += [f"- {reason}" for reason in dict.fromkeys(mine.refused[-2:])]
    return "\n".join(lines) + "\n" if lines else ""


# -- a step that needs decisions -----------------------------------------------------------------------------------


async def _decide(run: Run, mine: StepRun, results: Sequence[CheckResult]) -> Proposal:
    inline = run.model.traits.inline_bodies
    prompt = render(
        "act",
        plan=plan_text(run.state),
        step=step_text(mine.step),
        context=handed_on(run, mine.step.id) + _other_files(run, mine, ""),
        tools=run.toolbox.describe(run.toolbox.usable(tool_context(run))),
        history=_history(mine),
        failed=what_failed(mine, results),
        body_hint=_body_hint(inline),
        left=_left(run, mine),
    )
    draft, answer = await ask_read(
        run,
        "act and write" if inline else "act",
        briefing(run) + "\n\n" + prompt,
        lambda reply: _read_action(run, reply),
        # A body behind the JSON and a schema that ends with the JSON exclude each other.
        None if inline else schema_of(StepDecision),
        step_id=mine.step.id,
        temperature=temperature(run, mine),
    )
    await revise(run, mine.step.id, draft)
    if draft.is_complete or draft.decision == "replan":
        return Proposal(draft.decision, thought=draft.reason or draft.thought)
    tool = run.toolbox.get(draft.tool)
    arguments = dict(draft.arguments)
    body = ""
    if tool.needs_body(arguments):
        path = str(arguments.get("path", ""))
        body = str(arguments.pop(tool.body_argument, "") or "") or body_behind(answer, path)
        if not body and path:
            written = await _file_body(run, mine, path, results, temperature(run, mine))
            return replace(written, thought=draft.thought)
    return Proposal("act", tool.name, arguments, body, draft.thought)


def _read_action(run: Run, reply: ModelReply) -> tuple[StepDecision, str]:
    """The decision in an answer, also in the looser forms that models write; with the answer itself."""
    match read_control(reply.text):
        case "step_done":
            return StepDecision(decision="done", reason=reply.text[:300]), reply.text
        case "replan":
            return StepDecision(decision="replan", reason=reply.text[:300]), reply.text
    draft = read_json(reply.text, StepDecision, truncated=reply.finish_reason == "length")
    if draft.decision == "act":
        try:
            run.toolbox.get(draft.tool)
        except UnknownTool as error:
            raise UnreadableAnswer(f"{error}. {error.remedy}", answer=reply.text) from None
    return draft, reply.text


def body_behind(answer: str, path: str) -> str:
    """The fenced block that comes with the decision, if there is one and it is whole."""
    if "```" not in answer:
        return ""
    body = find_body(answer, path)
    return body.text if body is not None and body.closed else ""


def _history(mine: StepRun) -> str:
    if not mine.actions:
        return "(nothing yet)"
    shown = []
    for number, action in enumerate(mine.actions, 1):
        arguments = ", ".join(f"{k}={str(v)[:80]!r}" for k, v in action.arguments.items())
        # Only the last result is shown whole; older ones were context for decisions that are already made.
        text = action.summary if action is mine.actions[-1] else action.summary.splitlines()[0][:160]
        shown.append(f"{number}. {action.tool}({arguments}) -> {'ok' if action.ok else 'FAILED'}\n{text}")
    return "\n".join(shown)


def _body_hint(inline: bool) -> str:
    if inline:
        return (
            "For write_file, edit_file and run_python leave the content out of the JSON and put it right after it, "
            "in a fenced code block; for edit_file the block holds SEARCH/REPLACE blocks.\n"
        )
    return "For write_file and edit_file give only the path: the content is asked for next.\n"


def _left(run: Run, mine: StepRun) -> str:
    left = run.config.max_actions_per_step - len(mine.actions)
    budget = run.budget_left()
    return f"Actions left in this step: {left}." + (f" Left for the whole run: {budget}." if budget else "")
