"""Checks the preconditions of a step before it starts."""

from surefoot.core.plan import Check, ExecutionStep
from surefoot.engine.planner.evidence import checks_from_text
from surefoot.engine.runtime.run import Run


async def unmet_preconditions(run: Run, step: ExecutionStep) -> str:
    """Return which preconditions of a step are known not to hold, in words; empty if there is none."""
    sources: dict[str, str] = {}
    checks: list[Check] = []
    for text in step.preconditions:
        for check in checks_from_text(text):
            if check.key not in sources and run.verifier.may_run(check):
                sources[check.key] = text
                checks.append(check)
    results = await run.verifier.check(checks, "during")
    unmet = [f"{sources[r.check.key]} ({r.detail or 'it does not hold'})" for r in results if not r.passed]
    return f"its precondition does not hold: {'; '.join(unmet)}" if unmet else ""
