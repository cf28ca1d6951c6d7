"""A step that writes one file: no decision about tools is needed, just the file. How it is asked for, and read."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.artifacts import handed_on
from surefoot.asking import ask_text
from surefoot.beginnings import of_file, of_new_file, of_outline
from surefoot.context import (
    briefing,
    budget_chars,
    quoted,
    quoted_files,
    read_text,
    step_text,
    what_failed,
    what_fails,
    worth_showing,
)
from surefoot.errors import UnreadableAnswer
from surefoot.models.reading import read_fenced
from surefoot.outcome import CheckResult
from surefoot.outline import LEFT_OUT, outline
from surefoot.phases.answering import as_meant, plain_question, refusal_in
from surefoot.phases.proposal import Proposal
from surefoot.project import list_files
from surefoot.prompts import render
from surefoot.run import Run
from surefoot.state import StepRun
from surefoot.tools.matching import read_blocks

WHOLE_FILE_LINES = 150
"""Longer files are changed by search and replace, shorter ones are written anew."""


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    begin: str = ""
    bare: bool = False


async def file_body(
    run: Run,
    mine: StepRun,
    path: str,
    results: Sequence[CheckResult],
    warmth: float,
    *,
    anew: bool = False,
) -> Proposal:
    """The model writes the file anew, or edits it when it is long. `anew`: a small model is asked in other
    words, and without sight of the code that is wrong."""
    current = read_text(run.root / path, budget_chars(run))
    long = current is not None and current.count("\n") > WHOLE_FILE_LINES
    if run.model.traits.small and not long:
        asked = _plainly(run, mine, path, current or "", results, anew=anew)
    else:
        asked = _Question(_in_full(run, mine, path, current, results, "edit" if long else "write"))
    reply = await ask_text(
        run,
        "edit" if long else "write",
        asked.text,
        step_id=mine.step.id,
        temperature=warmth,
        bare=asked.bare,
        begin=asked.begin,
    )
    if long and read_blocks(reply.text):
        return Proposal("act", "edit_file", {"path": path}, reply.text)
    body = read_fenced(reply.text, path)
    if body is None and asked.bare and (refusal := refusal_in(reply.text)):
        return refusal
    if body is None:
        wanted = "no search/replace block and no fenced block" if long else "no fenced code block"
        raise UnreadableAnswer(f"the answer has {wanted} for {path}", answer=reply.text)
    if reply.finish_reason == "length":
        raise UnreadableAnswer(f"the answer was cut off before {path} was complete", answer=reply.text)
    if run.model.traits.small:
        body = as_meant(path, body)
    return Proposal("act", "write_file", {"path": path}, body if body.endswith("\n") else body + "\n")


# -- a small model -------------------------------------------------------------------------------------------------


def _plainly(
    run: Run, mine: StepRun, path: str, current: str, results: Sequence[CheckResult], *, anew: bool
) -> _Question:
    """What was learnt from earlier attempts is left out: it would be about answers that are not shown."""
    failed = what_fails(mine, results, there=bool(current))
    begun = _can_be_begun(run, path, results)
    if not (anew or begun):
        return _Question(plain_question(run, mine, failed, render("do")), bare=True)
    rest = outline(current, run.task.text + failed)
    begin = ""
    if begun:
        begin = of_outline(path, rest) if rest else of_file(path) if current else of_new_file(path, _sources(run))
    if anew and rest:
        instead = quoted(path, current), quoted(f"{path} without what is wrong", rest)
        form = render("file", path=path, hint=_FILL_IN)
        return _Question(plain_question(run, mine, "", form, instead), begin, bare=True)
    return _Question(plain_question(run, mine, failed, render("file", path=path, hint="")), begin, bare=True)


def _can_be_begun(run: Run, path: str, results: Sequence[CheckResult]) -> bool:
    """An answer that was begun cannot say that it cannot be done; where checks of the user's fail, they will tell."""
    red = any(not result.passed and result.check.origin in ("user", "project") for result in results)
    return red and run.model.traits.continues and path.endswith(".py")


def _sources(run: Run) -> list[str]:
    shown = [path for path in worth_showing(run, list_files(run.root)) if path.endswith(".py")]
    return [read_text(run.root / path, budget_chars(run)) or "" for path in shown]


_FILL_IN = f"Where it says `{LEFT_OUT}` the old code was wrong: write that anew, so that the checks pass."


# -- any other model -----------------------------------------------------------------------------------------------


def _in_full(
    run: Run, mine: StepRun, path: str, current: str | None, results: Sequence[CheckResult], prompt: str
) -> str:
    asked = render(
        prompt,
        step=step_text(mine.step),
        context=handed_on(run, mine.step.id) + other_files(run, mine, path),
        current=_current(run, path, current),
        failed=what_failed(mine, results, there=bool(current)),
        path=path,
        hint=_hint(mine),
    )
    return f"{briefing(run)}\n\n{asked}"


def other_files(run: Run, mine: StepRun, path: str = "") -> str:
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


def _hint(mine: StepRun) -> str:
    if mine.kept:
        return "Keep what works in it, and mend what fails."
    if mine.attempt > 1:
        return "Earlier versions failed: start afresh, in another way."
    return ""
