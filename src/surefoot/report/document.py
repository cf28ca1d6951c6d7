"""The document of a report: what `--format json` prints and the page of a report contains. Types only.

Times are seconds since the epoch. Texts are plain text without secrets, never HTML.
"""

from typing import Any, Literal, TypeAlias

from typing_extensions import TypedDict

from surefoot.view.documents import ArtifactRow, FileDiff, Message, ProofRow
from surefoot.view.rows import Colour, Row, Tokens

REPORT_VERSION = 1
"""The version of the document. Fields may be added to a version; anything else needs a new one."""


class FinalCheck(ProofRow):
    """A check on the final tree."""

    before: Colour | None
    """Before the run; null if it did not run then."""
    now: Colour | None
    """Null: it has not run on the final tree."""
    origin: str
    """Whose check it is: `user`, `project` or `plan`."""


class Recovery(TypedDict):
    """An attempt of a step that failed: what was done about it, and what it cost."""

    step: str
    name: str
    attempt: int
    category: str
    message: str
    root_cause: str
    rung: str | None
    rolled_back: bool
    healed: bool
    """Whether the step succeeded later."""
    seconds: float
    """The time of the attempt and of the model calls about its failure."""
    calls: int
    tokens: Tokens
    cost_usd: float | None
    """Null: the price of a call is not known."""


class Usage(TypedDict):
    """What the model was asked for, and what that used."""

    purpose: str
    calls: int
    tokens: Tokens
    cost_usd: float | None
    seconds: float


class ChangedFiles(TypedDict):
    added: list[str]
    modified: list[str]
    deleted: list[str]


class SuiteRow(TypedDict):
    """The tests of the project."""

    command: str
    before: str
    after: str
    regressions: list[str]
    no_longer_run: list[str]
    altered: list[str]
    own_tests: list[str]
    problems: list[str]
    """Why something about the tests is not known or proves nothing."""


class Environment(TypedDict):
    """Where the run happened. A list has several entries if something was different when the run was resumed."""

    surefoot: list[str]
    system: list[str]
    model: list[str]
    traits: dict[str, Any]
    """What is not usual about the model."""
    sandbox: list[str]
    """How commands were isolated; empty if they were not."""
    starts: int
    """How often a process began to work on the run."""
    settings: dict[str, Any]
    """Settings that are not the default, and those about consent and isolation."""


Omitted: TypeAlias = Literal[
    "outputs",
    "output_middles",
    "binary_outputs",
    "lost_outputs",
    "messages",
    "message_ends",
    "diffs",
    "patches",
    "actions",
    "texts",
]


class Omission(TypedDict):
    """Something that the report leaves out."""

    what: Omitted
    count: int
    size: int
    """How many characters; for patches, lines. 0: not known."""


class ReportLimits(TypedDict):
    file_bytes: int
    log_end_chars: int
    """How much of a long output is kept at its beginning, and how much at its end."""
    message_chars: int
    patch_lines: int


class StepDocument(TypedDict):
    proofs: list[ProofRow]
    artifacts: list[ArtifactRow]
    log: str


class Report(TypedDict):
    v: int
    run: str
    seq: int
    """The number of the last event that is part of the report."""
    generated_at: float
    version: str
    """Of the Surefoot that wrote the report."""
    locale: str | None
    ended: bool
    """False: the run was not at its end when the report was written."""
    rows: list[Row]
    """As in `run:snapshot` of the protocol: run, phases, revisions, questions, steps, tries, actions."""
    checks: list[FinalCheck]
    tests: SuiteRow | None
    files: ChangedFiles
    notes: list[str]
    """What a reader should know about the outcome."""
    unproven_steps: list[str]
    """Steps that are done by all that is known, but that no check could prove."""
    undone: dict[str, Any] | None
    branch: str
    """The git branch that was made for the run; empty if none was."""
    commits: list[str]
    """The ids of the commits with its changes."""
    recoveries: list[Recovery]
    usage: list[Usage]
    environment: Environment
    diff: list[FileDiff]
    diff_problem: str
    """Why there is no diff; empty if there is one."""
    step_diffs: dict[str, list[FileDiff]]
    steps: dict[str, StepDocument]
    conversation: list[Message]
    blobs: dict[str, str]
    """Outputs of actions and checks by hash, as far as they fit."""
    omitted: list[Omission]
    limits: ReportLimits


def report_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Report).json_schema(ref_template="#/$defs/{model}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A report of surefoot",
        "version": REPORT_VERSION,
    }
