"""Ask a small model for one short file, with the answer prefilled where possible."""

from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.outcome import CheckResult
from surefoot.core.purpose import Purpose
from surefoot.journal.state import StepRun
from surefoot.models.parsing.answer import read_fenced
from surefoot.prompting.ask import Prompt, ask_text
from surefoot.prompting.context import budget_chars, failures, files_to_show, quoted, read_text, visible_files
from surefoot.prompting.json_actions.file_body import read_file_answer
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.outline import LEFT_OUT, outline
from surefoot.prompting.small.prefill import prefill_existing, prefill_new, prefill_outline
from surefoot.prompting.small.question import add_imports, plain_question, refusal_in
from surefoot.prompting.templates import render

_FILL_IN = f"Where it says `{LEFT_OUT}` the old code was wrong: write that anew, so that the checks pass."


async def ask_for_short_file(
    run: RunContext,
    step_run: StepRun,
    path: str,
    results: Sequence[CheckResult],
    temperature: float,
    *,
    hide_mistakes: bool,
    refuted: str = "",
    other_form: bool = False,
) -> Proposal:
    """Ask for one short file.

    `hide_mistakes`: ask in other words, and without showing the wrong code. `refuted`: what is known about answers
    that failed. `other_form`: use the form that the first question did not have.
    """
    current = read_text(run.root, path, budget_chars(run)) or ""
    if other_form:
        form = render("do") if _can_prefill(run, path, results) else render("file", path=path, hint="")
        text = plain_question(run, step_run, refuted, form)
        prompt = Prompt(purpose=Purpose.WRITE, text=text, step_id=step_run.step.id, bare=True)
    else:
        prompt = _prompt(run, step_run, path, current, results, hide_mistakes=hide_mistakes, refuted=refuted)
    reply = await ask_text(run, replace(prompt, temperature=temperature))
    if read_fenced(reply.text, path) is None and (refusal := refusal_in(reply.text)):
        return refusal
    return read_file_answer(reply, path, postprocess=add_imports)


def _prompt(
    run: RunContext,
    step_run: StepRun,
    path: str,
    current: str,
    results: Sequence[CheckResult],
    *,
    hide_mistakes: bool,
    refuted: str,
) -> Prompt:
    """Return the prompt, without lessons from earlier attempts: they are about answers that the model is not shown."""
    failing = failures(step_run, results, exists=bool(current))
    can_prefill = _can_prefill(run, path, results)
    prefill, replacement = "", ("", "")
    if not (hide_mistakes or can_prefill):
        form = render("do")
    else:
        rest = outline(current, run.task.text + failing)
        if can_prefill:
            prefill = _prefill(run, path, current, rest)
        hint = ""
        if hide_mistakes and rest:
            replacement = quoted(path, current), quoted(f"{path} without what is wrong", rest)
            failing, hint = "", _FILL_IN
        form = render("file", path=path, hint=hint)
    text = plain_question(run, step_run, refuted or failing, form, replacement)
    return Prompt(purpose=Purpose.WRITE, text=text, step_id=step_run.step.id, bare=True, prefill=prefill)


def _can_prefill(run: RunContext, path: str, results: Sequence[CheckResult]) -> bool:
    """Whether to prefill the answer. It then cannot say that the task is impossible, so a given check must fail now."""
    red = any(not result.passed and result.check.origin in ("user", "project") for result in results)
    return red and run.model.traits.continues and path.endswith(".py")


def _prefill(run: RunContext, path: str, current: str, rest: str) -> str:
    if rest:
        return prefill_outline(path, rest)
    return prefill_existing(path) if current else prefill_new(path, _sources(run))


def _sources(run: RunContext) -> list[str]:
    paths = [path for path in files_to_show(run, visible_files(run)) if path.endswith(".py")]
    return [read_text(run.root, path, budget_chars(run)) or "" for path in paths]
