"""Ask for a program that computes a result file, instead of for the result itself."""

from surefoot.core.purpose import Purpose
from surefoot.errors import UnreadableAnswer
from surefoot.journal.state import StepRun
from surefoot.models.base import ModelReply
from surefoot.models.parsing.answer import read_fenced
from surefoot.prompting.ask import Prompt, ask_text
from surefoot.prompting.context import results_of_dependencies, step_text
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.missing_imports import with_missing_imports
from surefoot.prompting.templates import render

_PROGRAM = "program.py"
"""The program's name in the answer; it never becomes a file."""


async def ask_for_program(
    run: RunContext, briefing: str, step_run: StepRun, failed: str, temperature: float
) -> Proposal:
    paths = quoted_paths(step_run)
    question = render(
        "compute",
        step=step_text(step_run.step),
        context=results_of_dependencies(run, step_run.step.id),
        last=_last_program(run, step_run),
        failed=failed,
        path=paths,
    )
    text = f"{briefing}\n\n{question}"
    prompt = Prompt(purpose=Purpose.WRITE, text=text, step_id=step_run.step.id, temperature=temperature)
    return read_program(await ask_text(run, prompt), paths)


def quoted_paths(step_run: StepRun) -> str:
    """Name the files that the program has to make, in backticks."""
    return " and ".join(f"`{path}`" for path in step_run.step.writes)


def read_program(reply: ModelReply, paths: str) -> Proposal:
    code = read_fenced(reply.text, _PROGRAM)
    if code is None or reply.finish_reason == "length":
        problem = "has no fenced code block" if code is None else "was cut off"
        raise UnreadableAnswer(f"the answer {problem}: the program that makes {paths} is wanted", answer=reply.text)
    return Proposal("act", "run_python", {}, with_missing_imports(code))


def _last_program(run: RunContext, step_run: StepRun) -> str:
    """Quote the program that ran last, with its output if it failed."""
    programs = [action for action in step_run.actions if action.tool == "run_python" and action.body]
    if not programs:
        return ""
    code = run.journal.get_blob(programs[-1].body).decode().rstrip()
    ended = "" if programs[-1].ok else f"\n# It ended with\n{programs[-1].summary}\n"
    return f"\n# The last program\n```python\n{code}\n```\n{ended}"
