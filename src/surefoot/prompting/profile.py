"""The properties of a strategy that the engine may depend on, as plain data."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Profile:
    """The limits and habits of a strategy. The engine reads them and never asks how large the model is."""

    red_rounds: int = 2
    """How many actions of a one-answer step may leave its checks red before the attempt ends: then a fresh start
    helps more than another correction."""
    candidates: int = 2
    """How many candidate answers a step gets, unless the configuration says otherwise."""
    candidates_first: bool = False
    """Candidates are the first retry instead of the last one, and the only one. A repaired step and a step of a new
    plan then get one attempt each."""
    alternative_approaches: int = 10
    """How many alternatives of the approach are tried, unless the configuration says otherwise."""
    diagnose_before_candidates: bool = True
    """Whether the model is asked for the cause of a failure that candidates could fix."""
    may_skip_understanding: bool = False
    """A task about one named file, or a small folder with given checks, is not analysed first."""
    stop_without_inputs: bool = False
    """A missing input ends a computed step: the model would make the data up."""
    asks_questions: bool = True
    """Open questions about the task make the run wait, even if nobody is there. False: they are asked only if somebody
    is."""
    answers_in_refusal: bool = False
    """The model learns a person's answers by having its understanding refused with them. Strategies whose later prompts
    show all questions and answers do not need that."""
    tests_read_only: bool = False
    """Existing tests may not be written, unless the task names them. False: they may be extended. A small model would
    rewrite them."""
    file_share: float = 0.25
    """The share of the context window for file contents."""
    max_answer_tokens: int | None = None
    """The longest answer, below the configured limit; None: the configured limit."""
    max_actions: int = 10
    """How many actions a step may have, unless the configuration says otherwise."""
    repairs_plans: bool = True
    """Plans are repaired mechanically: steps for one file are merged, missing ones added, empty ones dropped."""
    edit_format: Literal["edit_file", "apply_patch"] = "edit_file"
    """Which tools for editing are offered. It is the same for the whole run."""
    truncate_middle: bool = False
    """Long results are cut in the middle. Otherwise the lines that look like errors are selected."""
    search_matches: int = 50
    """How many matches a search shows."""
    summary_chars: int = 4_000
    """How long the summary of a tool's result may be."""
    read_chars: int = 16_000
    """How much of a file one read shows."""
