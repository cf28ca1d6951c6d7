"""Asks for several candidates for a one-answer step that has failed, and lets the checks choose.

Each candidate is applied to a copy of the workspace, and the step's checks run there. The first that passes them all is
taken, and no more are asked for. If none passes, the one that fails least is taken. The chosen candidate is then
carried out in the workspace like any other action. An answer that failed before, or equals another candidate, is not
judged again. While none passes, functions of several candidates, and of the file as it was, are combined. Every
judgement is recorded, so a resumed run goes on with the next candidate.

The candidates of a conversation are branches of it (`branches.py`), if the configuration asks for them. A branch is
taken only if its checks pass.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from surefoot.core.outcome import CheckResult, decisive
from surefoot.core.plan import Check, StepKind
from surefoot.core.policy.rules import rule_on
from surefoot.core.transitions import Rung
from surefoot.engine.executor.approval import refusal_of
from surefoot.engine.executor.invention import invented_source
from surefoot.engine.executor.repeats import IN_EARLIER_PLAN, failed_in_earlier_plans
from surefoot.engine.reflector.branches import Branch, try_branch
from surefoot.engine.reflector.merge import merged
from surefoot.engine.runtime.run import Run
from surefoot.errors import ToolError, UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.events.steps import ORIGINAL_FILE
from surefoot.journal.state import StepRun
from surefoot.prompting.context import budget_chars, read_text
from surefoot.prompting.proposal import Proposal, fingerprint
from surefoot.tools.invoke import call

MAX_MERGES = 16
"""How many merges are judged per candidate. That takes a fraction of the time of asking for another candidate."""
FIRST_TEMPERATURE, TEMPERATURE_STEP, MAX_TEMPERATURE = 0.4, 0.3, 1.0
"""The first candidate is close to the most likely answer, and each is farther from it than the one before."""


def can_try_candidates(run: Run, step_run: StepRun) -> bool:
    """Whether candidates can be judged: the step is one answer, has failing checks, and needs no approval."""
    step, config = step_run.step, run.config
    kind = run.step_kind(step_run)
    in_branches = kind is StepKind.CONVERSATION and (config.reflection.candidates or 1) > 1
    if not kind.is_one_answer and not (in_branches and run.scratch.can_copy(often=True)):
        return False
    # If the answer had no effect, the checks fail as they did before it.
    if all(result.passed for result in decisive(step_run.newest_results)):
        return False
    if in_branches:
        # Calls that need a person's approval are refused in the branch, where the model is told.
        return True
    allow = (*config.allow, *run.state.allowed)
    if not step.writes or kind is StepKind.PROGRAM:
        return rule_on("command", "run_python", {}, config.approve, allow, config.deny) == "allow"
    return rule_on("edit", "write_file", {"path": step.writes[0]}, config.approve, allow, config.deny) == "allow"


def chooses_candidate(step_run: StepRun) -> bool:
    """Whether the attempt begins with candidates and none has been taken yet. A branch may have been taken in part."""
    if step_run.rungs[-1:] == [Rung.CANDIDATES] and any(c.conversation for c in _of_this_attempt(step_run)):
        return True
    return step_run.rungs[-1:] == [Rung.CANDIDATES] and not step_run.actions and not len(step_run.refused)


async def choose_candidate(run: Run, step_run: StepRun, checks: Sequence[Check]) -> list[Proposal]:
    """Return the proposals of the best candidate; empty if none is usable, or it is a branch whose checks fail."""
    count = run.config.reflection.candidates or run.profile.candidates
    judged_texts: set[str] = set()
    while True:
        tried = _of_this_attempt(step_run)
        if any(c.passed for c in tried):
            break
        if tried and not tried[-1].made_of and (better := await _merge(run, step_run, checks, judged_texts)):
            await run.record(better)
            continue
        number = 1 + sum(not c.made_of for c in tried)
        if number > count:
            break
        if run.step_kind(step_run) is StepKind.CONVERSATION:
            branch = await try_branch(run, step_run, checks, number, count)
            await run.record(_judged_branch(run, step_run, branch, number, count))
            continue
        candidate = _next_candidate(step_run, number, count)
        try:
            proposals = await run.strategy.candidate(step_run, candidate.temperature)
        except UnreadableAnswer as error:
            await run.record(candidate.with_(unusable=error.problem))
        else:
            await run.record(await _judged(run, step_run, candidate, proposals, checks))
    usable = _best_first(run, tried)
    if not usable or (usable[0].conversation and not usable[0].passed):
        return []
    best = usable[0]
    reason = f"{best.label}: the best by the checks"
    body = _body(run, best)
    if best.tool:
        return [Proposal("act", best.tool, best.arguments, body, reason)]
    return [Proposal("act", tool, arguments, text, reason) for tool, arguments, text in json.loads(body)]


def _of_this_attempt(step_run: StepRun) -> list[e.CandidateTried]:
    return [candidate for candidate in step_run.candidates if candidate.attempt == step_run.attempt]


def _next_candidate(step_run: StepRun, number: int, of: int) -> e.CandidateTried:
    """Return a candidate that the model has not been asked for yet, with the temperature to ask with."""
    temperature = round(min(FIRST_TEMPERATURE + TEMPERATURE_STEP * (number - 1), MAX_TEMPERATURE), 2)
    return e.CandidateTried(
        step_id=step_run.step.id, attempt=step_run.attempt, number=number, of=of, temperature=temperature
    )


async def _judged(
    run: Run, step_run: StepRun, tried: e.CandidateTried, proposals: Sequence[Proposal], checks: Sequence[Check]
) -> e.CandidateTried:
    """Return the candidate with the model's proposals and the results of the checks, or why it is not usable."""
    if proposals[0].decision != "act":
        return tried.with_(unusable=proposals[0].thought)
    whole = _as_one(proposals)
    twin = next((c for c in _of_this_attempt(step_run) if c.fingerprint == whole.fingerprint), None)
    tried = tried.with_(
        tool=whole.tool,
        arguments=whole.arguments,
        body=run.journal.put_blob(whole.body.encode()),
        fingerprint=whole.fingerprint,
    )
    if twin is not None:
        return tried.with_(unusable=f"the same as candidate {twin.number}")
    marks = {proposal.fingerprint for proposal in proposals}
    if marks <= step_run.failed_fingerprints:
        return tried.with_(unusable="exactly this was tried in an earlier attempt, and the checks failed")
    if marks <= failed_in_earlier_plans(run.state, step_run):
        return tried.with_(unusable=IN_EARLIER_PLAN)
    for proposal in proposals:
        if reason := await refusal_of(run, step_run.step.id, proposal, may_ask=False):
            return tried.with_(unusable=reason)
    try:
        return tried.with_(results=await _judge(run, step_run, proposals, checks))
    except ToolError as error:
        return tried.with_(unusable=str(error))


def _judged_branch(run: Run, step_run: StepRun, branch: Branch, number: int, of: int) -> e.CandidateTried:
    packed = json.dumps([(p.tool, p.arguments, p.body) for p in branch.done])
    return e.CandidateTried(
        step_id=step_run.step.id,
        attempt=step_run.attempt,
        number=number,
        of=of,
        temperature=0.0,
        body=run.journal.put_blob(packed.encode()),
        fingerprint=fingerprint("", {}, packed),
        unusable=branch.given_up,
        results=branch.results,
        conversation=next(reversed(run.state.conversations)),
    )


async def _merge(
    run: Run, step_run: StepRun, checks: Sequence[Check], judged_texts: set[str]
) -> e.CandidateTried | None:
    """Combine functions of several candidates into a file that fails less than each of them; None if none does.

    One candidate may have one function right and the next another, or have broken a function that was right before.
    """
    usable = _best_first(run, _of_this_attempt(step_run))
    if not usable or usable[0].tool != "write_file":
        return None
    start, *others = usable
    alike = [c for c in others if c.tool == start.tool and c.arguments == start.arguments]
    pool = [(c.made_of or (c.number,), _body(run, c)) for c in alike]
    if (existing := read_text(run.root, start.arguments["path"], budget_chars(run))) is not None:
        pool.append(((ORIGINAL_FILE,), existing))
    best, tries = start, 0
    pairs = ((source, text) for source, other in pool for text in _both_ways(_body(run, best), other))
    for source, text in pairs:
        if best.passed or tries >= MAX_MERGES:
            break
        if text in judged_texts:
            continue
        judged_texts.add(text)
        tries += 1
        proposal = Proposal("act", start.tool, start.arguments, text)
        try:
            results = await _judge(run, step_run, [proposal], checks)
        except ToolError:
            continue
        if _score(run, results) > _score(run, best.results):
            best = start.with_(
                number=max(c.number for c in usable),
                made_of=tuple(sorted({*(best.made_of or (start.number,)), *source})),
                body=run.journal.put_blob(text.encode()),
                fingerprint=proposal.fingerprint,
                results=results,
            )
    return best if best is not start else None


def _both_ways(one: str, other: str) -> Iterator[str]:
    yield from merged(one, other)
    yield from merged(other, one)


def _best_first(run: Run, candidates: Sequence[e.CandidateTried]) -> list[e.CandidateTried]:
    usable = [candidate for candidate in candidates if not candidate.unusable]
    return sorted(usable, key=lambda c: (_score(run, c.results), -c.number), reverse=True)


def _body(run: Run, candidate: e.CandidateTried) -> str:
    return run.journal.get_blob(candidate.body).decode()


def _as_one(proposals: Sequence[Proposal]) -> Proposal:
    """Pack an answer with several parts into one proposal without a tool, with the parts in its body."""
    if len(proposals) == 1:
        return proposals[0]
    return Proposal("act", body=json.dumps([(p.tool, p.arguments, p.body) for p in proposals]))


async def _judge(
    run: Run, step_run: StepRun, proposals: Sequence[Proposal], checks: Sequence[Check]
) -> tuple[CheckResult, ...]:
    """Carry out the proposals in a copy of the workspace and run the checks there."""
    async with run.scratch.copy(step_run.step.id) as place:
        context = replace(run.tool_context, root=place.root, sandbox=place.sandbox)
        for proposal in proposals:
            tool = run.toolbox.get(proposal.tool)
            body = {tool.body_argument: proposal.body} if proposal.body else {}
            result = await call(tool, context, {**proposal.arguments, **body})
            if not result.ok:
                raise ToolError(result.summary, tool=tool.name)
            if tool.name == "run_python" and (name := invented_source(run, place.root)):
                problem = f"{name} is an input that does not exist; the program invented its content"
                raise ToolError(problem, tool=tool.name)
        return await run.verifier.check_at(checks, place)


def _score(run: Run, results: Sequence[CheckResult]) -> tuple[int, int, int]:
    """Return the rank of results, the best highest: by decisive checks, then by all checks, then by failing tests."""
    red = [result for result in decisive(results) if not result.passed]
    outputs = [run.journal.get_blob(r.output_hash).decode(errors="replace") for r in red if r.output_hash]
    return -len(red), sum(result.passed for result in results), -sum(map(failing_tests, outputs))


def failing_tests(output: str) -> int:
    """Count the tests that a runner reports as failed. A runner that broke off reports none, which ranks last."""
    counts = re.findall(r"\b(\d+) (?:failed|errors?)\b|\b(?:failures|errors)=(\d+)", output)
    return sum(int(one or other) for one, other in counts) if counts else 1_000_000
