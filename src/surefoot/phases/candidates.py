"""Several answers to the same question, and the checks choose: for a step that is one answer, and could not be done
with one at a time.

Each candidate is applied to a copy of the workspace, and the step's checks are run there. The first that passes them
all is taken, and no more are asked for; where none does, it is the one that fails least. It then goes into the
workspace as an action like any other, is checked there, and may be corrected or undone. An answer that failed before,
or is equal to another candidate, is not judged again. As long as none passes, functions of several, and of what was
there before, are put together. What was judged is in the journal: a run that was cut off goes on with the next
candidate.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from surefoot import events as e
from surefoot.consent import rule_on
from surefoot.context import budget_chars, read_text
from surefoot.copies import a_copy
from surefoot.errors import ToolError, UnreadableAnswer
from surefoot.events.steps import WHAT_WAS_THERE
from surefoot.gates import decisive
from surefoot.machine import Rung
from surefoot.outcome import CheckResult
from surefoot.phases.approving import not_allowed
from surefoot.phases.computing import is_result, made_up
from surefoot.phases.deciding import in_one_answer, is_one_answer
from surefoot.phases.fingerprints import fingerprint
from surefoot.phases.performing import tool_context
from surefoot.phases.proposal import Proposal
from surefoot.plan import Check
from surefoot.run import Run
from surefoot.splice import spliced
from surefoot.state import StepRun
from surefoot.tools.base import call

MOST_SPLICES = 16
"""For each candidate: judging one takes a fraction of what asking for another does."""
COOLEST, WARMER, WARMEST = 0.4, 0.3, 1.0
"""The first candidate is the most likely one, and each is less so than the one before."""


def can_choose(run: Run, mine: StepRun) -> bool:
    """Programs can judge a step that is one answer and has checks which failed; and nobody wants to see each write
    before it is run."""
    step, config = mine.step, run.config
    if step.tool or not is_one_answer(run, step):
        return False
    # Where nothing came of the answer, what was red before it still is.
    if all(result.passed for result in decisive(mine.checks or mine.baseline)):
        return False
    allow = (*config.allow, *run.state.allowed)
    if not step.writes or is_result(run, step):
        return rule_on("command", "run_python", {}, config.approve, allow, config.deny) == "allow"
    return rule_on("edit", "write_file", {"path": step.writes[0]}, config.approve, allow, config.deny) == "allow"


def is_choosing(mine: StepRun) -> bool:
    """The attempt begins with candidates, and none has been taken yet."""
    return mine.rungs[-1:] == [Rung.CANDIDATES] and not mine.actions and not mine.refusals


async def choose(run: Run, mine: StepRun, checks: Sequence[Check]) -> list[Proposal]:
    """The best of the candidates; nothing when there is nothing in them that has not failed before."""
    of = run.config.reflection.candidates_of(small=run.model.traits.small)
    seen: set[str] = set()
    while True:
        known = _of_this_attempt(mine)
        if any(_passes(c) for c in known):
            break
        if known and not known[-1].made_of and (together := await _put_together(run, mine, checks, seen)):
            await run.record(together)
        elif (number := 1 + sum(not c.made_of for c in known)) <= of:
            await run.record(await _try(run, mine, checks, number, of))
        else:
            break
    judged = _best_first(run, known)
    if not judged:
        return []
    best = judged[0]
    why = f"{best.label}: the best by the checks"
    body = _body(run, best)
    if best.tool:
        return [Proposal("act", best.tool, best.arguments, body, why)]
    return [Proposal("act", tool, arguments, text, why) for tool, arguments, text in json.loads(body)]


def _of_this_attempt(mine: StepRun) -> list[e.CandidateTried]:
    return [candidate for candidate in mine.candidates if candidate.attempt == mine.attempt]


async def _try(run: Run, mine: StepRun, checks: Sequence[Check], number: int, of: int) -> e.CandidateTried:
    warmth = round(min(COOLEST + WARMER * (number - 1), WARMEST), 2)
    tried = e.CandidateTried(step_id=mine.step.id, attempt=mine.attempt, number=number, of=of, temperature=warmth)
    try:
        # All in the same words, which are read once, and not those that failed.
        proposals = await in_one_answer(run, mine, mine.baseline, warmth, anew=True)
    except UnreadableAnswer as error:
        return tried.with_(unusable=error.problem)
    if proposals[0].decision != "act":
        return tried.with_(unusable=proposals[0].thought)
    whole = _as_one(proposals)
    mark = fingerprint(whole.tool, whole.arguments, whole.body)
    twin = next((c for c in _of_this_attempt(mine) if c.fingerprint == mark), None)
    tried = tried.with_(
        tool=whole.tool,
        arguments=whole.arguments,
        body=run.services.journal.put_blob(whole.body.encode()),
        fingerprint=mark,
    )
    if twin is not None:
        return tried.with_(unusable=f"the same as candidate {twin.number}")
    if {fingerprint(p.tool, p.arguments, p.body) for p in proposals} <= mine.failed_fingerprints:
        return tried.with_(unusable="exactly this was tried in an earlier attempt, and the checks failed")
    for proposal in proposals:
        if reason := await not_allowed(run, mine.step.id, proposal, may_ask=False):
            return tried.with_(unusable=reason)
    try:
        return tried.with_(results=await _judge(run, mine, proposals, checks))
    except ToolError as error:
        return tried.with_(unusable=str(error))


async def _put_together(run: Run, mine: StepRun, checks: Sequence[Check], seen: set[str]) -> e.CandidateTried | None:
    """One answer may have one function right and the next another, or only broken what was right before: a file of
    functions of several, where that fails less than each of them. What is in `seen` was judged already."""
    judged = _best_first(run, _of_this_attempt(mine))
    if not judged or judged[0].tool != "write_file":
        return None
    start, *others = judged
    alike = [c for c in others if c.tool == start.tool and c.arguments == start.arguments]
    pool = [(c.made_of or (c.number,), _body(run, c)) for c in alike]
    if (there := read_text(run.root / start.arguments["path"], budget_chars(run))) is not None:
        pool.append(((WHAT_WAS_THERE,), there))
    best, tries = start, 0
    pairs = ((source, text) for source, other in pool for text in _both_ways(_body(run, best), other))
    for source, text in pairs:
        if _passes(best) or tries >= MOST_SPLICES:
            break
        if text in seen:
            continue
        seen.add(text)
        tries += 1
        proposal = Proposal("act", start.tool, start.arguments, text)
        try:
            results = await _judge(run, mine, [proposal], checks)
        except ToolError:
            continue
        if _score(run, results) > _score(run, best.results):
            best = start.with_(
                number=max(c.number for c in judged),
                made_of=tuple(sorted({*(best.made_of or (start.number,)), *source})),
                body=run.services.journal.put_blob(text.encode()),
                fingerprint=fingerprint(proposal.tool, proposal.arguments, text),
                results=results,
            )
    return best if best is not start else None


def _both_ways(one: str, other: str) -> Iterator[str]:
    yield from spliced(one, other)
    yield from spliced(other, one)


def _best_first(run: Run, candidates: Sequence[e.CandidateTried]) -> list[e.CandidateTried]:
    judged = [candidate for candidate in candidates if not candidate.unusable]
    return sorted(judged, key=lambda c: (_score(run, c.results), -c.number), reverse=True)


def _body(run: Run, candidate: e.CandidateTried) -> str:
    return run.services.journal.get_blob(candidate.body).decode()


def _as_one(proposals: Sequence[Proposal]) -> Proposal:
    """An answer with several parts has no tool of its own: they are all in its body."""
    if len(proposals) == 1:
        return proposals[0]
    return Proposal("act", body=json.dumps([(p.tool, p.arguments, p.body) for p in proposals]))


async def _judge(
    run: Run, mine: StepRun, proposals: Sequence[Proposal], checks: Sequence[Check]
) -> tuple[CheckResult, ...]:
    """The checks on a copy of the workspace in which everything that is proposed was carried out."""
    async with a_copy(run, mine.step.id) as place:
        context = replace(tool_context(run), root=place.root, sandbox=place.sandbox)
        for proposal in proposals:
            tool = run.toolbox.get(proposal.tool)
            body = {tool.body_argument: proposal.body} if proposal.body else {}
            done = await call(tool, context, {**proposal.arguments, **body})
            if not done.ok:
                raise ToolError(done.summary, tool=tool.name)
            if tool.name == "run_python" and (name := made_up(run, place.root)):
                raise ToolError(f"{name} is not there, and was made up to be read", tool=tool.name)
        return await run.verifier.judge(checks, place)


def _passes(candidate: e.CandidateTried) -> bool:
    return not candidate.unusable and all(result.passed for result in decisive(candidate.results))


def _score(run: Run, results: Sequence[CheckResult]) -> tuple[int, int, int]:
    """More checks that decide, then more of all, then fewer tests that fail."""
    red = [result for result in decisive(results) if not result.passed]
    outputs = [run.services.journal.get_blob(r.output_hash).decode(errors="replace") for r in red if r.output_hash]
    return -len(red), sum(result.passed for result in results), -sum(map(failing_tests, outputs))


def failing_tests(output: str) -> int:
    """How many tests a runner says have failed or could not be run; one that broke off says nothing, which is worse."""
    told = re.findall(r"\b(\d+) (?:failed|errors?)\b|\b(?:failures|errors)=(\d+)", output)
    return sum(int(one or other) for one, other in told) if told else 1_000_000
