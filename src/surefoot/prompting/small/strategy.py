"""The strategy for small models: short single questions, whole answers, and candidates instead of corrections."""

from collections.abc import Awaitable, Sequence

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import ExecutionStep, StepKind, StepType
from surefoot.core.purpose import Purpose
from surefoot.journal.state import StepRun
from surefoot.prompting.ask import Prompt, ask_text
from surefoot.prompting.context import budget_chars, failures, read_text, results_of_dependencies, step_to_replan
from surefoot.prompting.drafts.short import PlanDraft, StepDraft
from surefoot.prompting.json_actions.file_body import ask_for_file, is_long
from surefoot.prompting.json_actions.program import ask_for_program, quoted_paths, read_program
from surefoot.prompting.json_actions.strategy import JsonActions, attempt_temperature
from surefoot.prompting.profile import Profile
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.small.file_answer import ask_for_short_file
from surefoot.prompting.small.free_answer import ask_for_free_answer
from surefoot.prompting.small.other_wording import (
    is_further_try,
    is_repaired,
    repaired_step,
    replanned_task,
    what_refutes,
)
from surefoot.prompting.small.question import add_imports, missing_outputs, plain_question
from surefoot.prompting.strategy import Refusal, Turn
from surefoot.prompting.templates import render
from surefoot.tools.text.missing import says_missing


class SmallStrategy(JsonActions):
    profile = Profile(
        # A small model that is shown its own answer repeats it, so a fresh start helps more than a correction.
        red_rounds=1,
        # Its answers are cheap and often wrong.
        candidates=3,
        candidates_first=True,
        alternative_approaches=1,
        diagnose_before_candidates=False,
        may_skip_understanding=True,
        stop_without_inputs=True,
        asks_questions=False,
        tests_read_only=True,
        file_share=0.5,
        # A longer answer of a small model repeats itself, and takes minutes.
        max_answer_tokens=1_024,
        summary_chars=1_600,
        read_chars=4_000,
    )

    def step_kind(self, step: ExecutionStep) -> StepKind:
        kind = super().step_kind(step)
        free = kind is StepKind.ACTIONS and step.step_type is not StepType.TESTING
        return StepKind.FREE_ANSWER if free else kind

    async def next_actions(self, step_run: StepRun, results: Sequence[CheckResult]) -> Turn:
        temperature = attempt_temperature(self.run, step_run)
        match self.run.step_kind(step_run):
            case StepKind.FREE_ANSWER:
                return Turn(await self.free_answer(step_run, results, temperature))
            case StepKind.FILE:
                return Turn([await self.file(step_run, step_run.step.writes[0], results, temperature)])
            case StepKind.PROGRAM:
                return Turn([await self.program(step_run, results, temperature)])
        return await self.decide(step_run, results, temperature)

    def goal(self, step: ExecutionStep) -> str:
        """Add nothing to the step's text: short prompts work best."""
        return ""

    def available_data(self, step_run: StepRun) -> str:
        return ""

    async def candidate(self, step_run: StepRun, temperature: float) -> Sequence[Proposal]:
        """Ask in other words than before, and without showing the code that is wrong."""
        results = step_run.results_before
        match self.run.step_kind(step_run):
            case StepKind.FREE_ANSWER:
                return await self.free_answer(step_run, results, temperature)
            case StepKind.PROGRAM if not results_of_dependencies(self.run, step_run.step.id):
                return [await self._plain_program(step_run, temperature)]
            case StepKind.PROGRAM:
                return [await self.program(step_run, results, temperature)]
        return [await self.file(step_run, step_run.step.writes[0], results, temperature, hide_mistakes=True)]

    async def plan(self, refusal: Refusal) -> PlanDraft:
        """After candidates that all failed, word the plan differently instead of asking for another one."""
        failed = step_to_replan(self.run.state)
        if failed is None or refusal.messages or not self.run.state.had_candidates:
            return await super().plan(refusal)
        return replanned_task(self.run, failed)

    async def repair_step(self, step_run: StepRun, failed: str) -> StepDraft:
        if not self.run.step_kind(step_run).is_one_answer:
            return await super().repair_step(step_run, failed)
        return repaired_step(self.run, step_run)

    def free_answer(
        self, step_run: StepRun, results: Sequence[CheckResult], temperature: float
    ) -> Awaitable[list[Proposal]]:
        """Ask for all files and commands of a step at once."""
        # That a file to be made is missing is no news, and the model would take it for a part of the task.
        exists = not any(says_missing(result.detail) for result in results if not result.passed)
        failing = failures(step_run, results, exists=exists) + missing_outputs(step_run)
        return ask_for_free_answer(self.run, step_run, failing + self._refuted(step_run), temperature)

    def file(
        self,
        step_run: StepRun,
        path: str,
        results: Sequence[CheckResult],
        temperature: float,
        *,
        hide_mistakes: bool = False,
    ) -> Awaitable[Proposal]:
        if is_long(read_text(self.run.root, path, budget_chars(self.run))):
            return ask_for_file(self.run, self.briefing, step_run, path, results, temperature, postprocess=add_imports)
        refuted = "" if hide_mistakes else self._refuted(step_run)
        repaired = bool(refuted) and is_repaired(step_run)
        return ask_for_short_file(
            self.run,
            step_run,
            path,
            results,
            temperature,
            hide_mistakes=hide_mistakes or repaired,
            refuted=refuted,
            other_form=bool(refuted) and not repaired,
        )

    def program(self, step_run: StepRun, results: Sequence[CheckResult], temperature: float) -> Awaitable[Proposal]:
        # Lessons from earlier attempts would be about a program that the model is not shown.
        failing = failures(step_run, results, exists=False) + missing_outputs(step_run)
        return ask_for_program(self.run, self.briefing, step_run, failing + self._refuted(step_run), temperature)

    def _refuted(self, step_run: StepRun) -> str:
        return what_refutes(step_run) if is_further_try(self.run, step_run) else ""

    async def _plain_program(self, step_run: StepRun, temperature: float) -> Proposal:
        """Ask the plain question. The model then makes other mistakes, which is the point of candidates."""
        paths = quoted_paths(step_run)
        text = plain_question(self.run, step_run, missing_outputs(step_run), render("program", path=paths))
        prompt = Prompt(purpose=Purpose.WRITE, text=text, step_id=step_run.step.id, temperature=temperature, bare=True)
        return read_program(await ask_text(self.run, prompt), paths)
