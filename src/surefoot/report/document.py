"""The document of a report, as `--format json` prints it and the HTML page contains it. Types only.

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
    """The result before the run; null if the check did not run then."""
    now: Colour | None
    """The result on the final tree; null if the check has not run on it."""
    origin: str
    """Whose check it is: `user`, `project` or `plan`."""


class Recovery(TypedDict):
    """A failed attempt of a step: what was done about it, and what it cost."""

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
    """Null if the price of a call is not known."""


class Usage(TypedDict):
    """The model calls for one purpose, and what they used."""

    purpose: str
    calls: int
    tokens: Tokens
    cost_usd: float | None
    seconds: float


class ChangedFiles(TypedDict):
    added: list[str]
    modified: list[str]
    deleted: list[str]
    tool_files: int
    """How many more files of version control and of tools were changed, which are in none of the lists."""


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
    """The environment of the run. A list has several entries if the value was different when the run was resumed."""

    surefoot: list[str]
    system: list[str]
    model: list[str]
    traits: dict[str, Any]
    """The traits of the model that differ from the defaults."""
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
    "tool_files",
]


class Omission(TypedDict):
    """Something that the report leaves out."""

    what: Omitted
    count: int
    size: int
    """In characters; for patches, in lines. 0 if not known."""


class ReportLimits(TypedDict):
    file_bytes: int
    log_end_chars: int
    """How many characters of a long output are kept at its beginning, and also at its end."""
    message_chars: int
    patch_lines: int


class StepDocument(TypedDict):
    proofs: list[ProofRow]
    artifacts: list[ArtifactRow]
    log: str


class Push(TypedDict):
    commit: str
    branch: str
    address: str
    """The address of the repository, without a password or token."""


class Report(TypedDict):
    v: int
    run: str
    seq: int
    """The number of the last event that is part of the report."""
    generated_at: float
    version: str
    """The version of Surefoot that wrote the report."""
    locale: str | None
    ended: bool
    """Whether the run had ended when the report was written."""
    rows: list[Row]
    """As in `run:snapshot` of the protocol: run, phases, revisions, questions, steps, tries, actions."""
    checks: list[FinalCheck]
    tests: SuiteRow | None
    files: ChangedFiles
    notes: list[str]
    """Remarks on the outcome for the reader."""
    unproven_steps: list[str]
    """Steps that are done as far as is known, but that no check could prove."""
    undone: dict[str, Any] | None
    branch: str
    """The git branch that was created for the run; empty if none was."""
    commits: list[str]
    """The ids of the commits with the changes of the run."""
    pushes: list[Push]
    """Where the changes of the run were pushed."""
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
    """Outputs of actions, checks and steps by hash, as far as they fit."""
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
