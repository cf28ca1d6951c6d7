"""Ask for one file: its whole content, or edits if it is long."""

from collections.abc import Callable, Sequence

from surefoot.core.outcome import CheckResult
from surefoot.core.purpose import Purpose
from surefoot.errors import UnreadableAnswer
from surefoot.journal.state import StepRun
from surefoot.models.base import ModelReply
from surefoot.models.parsing.answer import read_fenced
from surefoot.prompting.ask import Prompt, ask_text
from surefoot.prompting.context import (
    budget_chars,
    failures_and_lessons,
    files_of_other_steps,
    quoted,
    read_text,
    results_of_dependencies,
    step_text,
)
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.templates import render
from surefoot.tools.text.matching import read_blocks

PostProcess = Callable[[str, str], str]
"""Takes the path and the content of an answered file; returns the content to write."""

WHOLE_FILE_LINES = 150
"""Longer files are changed by search and replace; shorter ones are rewritten."""


def _unchanged(path: str, body: str) -> str:
    return body


async def ask_for_file(
    run: RunContext,
    briefing: str,
    step_run: StepRun,
    path: str,
    results: Sequence[CheckResult],
    temperature: float,
    *,
    postprocess: PostProcess = _unchanged,
) -> Proposal:
    """Ask for the file, with everything that is known about the step."""
    current = read_text(run.root, path, budget_chars(run))
    form = Purpose.EDIT if is_long(current) else Purpose.WRITE
    question = render(
        form.value,
        step=step_text(step_run.step),
        context=results_of_dependencies(run, step_run.step.id) + files_of_other_steps(run, step_run, path),
        current=_current(briefing, path, current),
        failed=failures_and_lessons(step_run, results, exists=bool(current)),
        path=path,
        hint=_hint(step_run),
    )
    text = f"{briefing}\n\n{question}"
    prompt = Prompt(purpose=form, text=text, step_id=step_run.step.id, temperature=temperature)
    return read_file_answer(await ask_text(run, prompt), path, long=form is Purpose.EDIT, postprocess=postprocess)


def is_long(current: str | None) -> bool:
    return current is not None and current.count("\n") > WHOLE_FILE_LINES


def read_file_answer(
    reply: ModelReply, path: str, *, long: bool = False, postprocess: PostProcess = _unchanged
) -> Proposal:
    """Return the edits or the content of the file in the answer. Raises `UnreadableAnswer` if there are none."""
    if long and read_blocks(reply.text):
        return Proposal("act", "edit_file", {"path": path}, reply.text)
    body = read_fenced(reply.text, path)
    if body is None:
        missing = "no search/replace block and no fenced block" if long else "no fenced code block"
        raise UnreadableAnswer(f"the answer has {missing} for {path}", answer=reply.text)
    if reply.finish_reason == "length":
        raise UnreadableAnswer(f"the answer was cut off before {path} was complete", answer=reply.text)
    body = postprocess(path, body)
    return Proposal("act", "write_file", {"path": path}, body if body.endswith("\n") else body + "\n")


def _current(briefing: str, path: str, text: str | None) -> str:
    """Quote the file, unless the briefing shows it already: models tend to copy what they read twice."""
    if not text or not text.strip() or quoted(path, text) in briefing:
        return ""
    return quoted(f"{path} as it is now", text)


def _hint(step_run: StepRun) -> str:
    if step_run.work_kept:
        return "Keep what works in it, and mend what fails."
    if step_run.attempt > 1:
        return "Earlier versions failed: start afresh, in another way."
    return ""
