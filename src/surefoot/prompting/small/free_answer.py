"""Ask for all files and commands of a step in one free answer.

Choosing tools one by one, in JSON, is what a small model does worst.
"""

from surefoot.core.purpose import Purpose
from surefoot.errors import UnreadableAnswer
from surefoot.journal.state import StepRun
from surefoot.models.parsing.parts import Part, parts
from surefoot.project.folder import is_test
from surefoot.project.task_text import files_named_in
from surefoot.prompting.ask import Prompt, ask_text
from surefoot.prompting.context import read_text
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.question import add_imports, plain_question, refusal_in
from surefoot.prompting.templates import render


async def ask_for_free_answer(run: RunContext, step_run: StepRun, failed: str, temperature: float) -> list[Proposal]:
    """Return the actions, in order; at least one, or a request to replan. Raises `UnreadableAnswer`."""
    text = plain_question(run, step_run, failed + _broken_action(step_run), render("do"))
    prompt = Prompt(purpose=Purpose.DO, text=text, step_id=step_run.step.id, temperature=temperature, bare=True)
    reply = await ask_text(run, prompt)
    if reply.finish_reason == "length":
        raise UnreadableAnswer("the answer was cut off", answer=reply.text)
    answer_parts = parts(reply.text, _only_file(run))
    # A refusal may be written as if it were a command.
    refusals = [part for part in answer_parts if not part.path and refusal_in(part.text)]
    effective = [part for part in answer_parts if part not in refusals and not _changes_nothing(run, part)]
    if not effective and (refusal := refusal_in(refusals[0].text if refusals else reply.text)):
        return [refusal]
    if not effective:
        problem = "the answer changes nothing" if answer_parts else "the answer has neither a file nor a command"
        raise UnreadableAnswer(problem, answer=reply.text)
    return [_proposal(part) for part in effective]


def _broken_action(step_run: StepRun) -> str:
    """Describe the last action if the action itself failed, not the checks after it."""
    last = step_run.actions[-1] if step_run.actions else None
    if last is None or last.ok:
        return ""
    target = last.arguments.get("command") or last.arguments.get("path")
    return f"\n# This failed\n{target}\n{last.summary}\n"


def _proposal(part: Part) -> Proposal:
    if part.path:
        return Proposal("act", "write_file", {"path": part.path}, add_imports(part.path, part.text))
    return Proposal("act", "run_command", {"command": part.text.strip()})


def _only_file(run: RunContext) -> str:
    """Return the only file that the task names, apart from tests: a block without a name is for it. Else empty."""
    named = [path for path in files_named_in(run.task.text) if not is_test(path)]
    return named[0] if len(named) == 1 else ""


def _changes_nothing(run: RunContext, part: Part) -> bool:
    """Whether a part writes a protected file, repeats a file unchanged, or holds only comments."""
    if not part.path:
        return all(not line.strip() or line.lstrip().startswith("#") for line in part.text.splitlines())
    if part.path.removeprefix("./") in run.state.protected:
        return True
    return read_text(run.root, part.path, len(part.text) + 1) == part.text
