"""Documents about a run beside its rows: diffs, proofs, results, the conversation with the model. Types only."""

from typing import Any

from typing_extensions import TypedDict

from surefoot.view.rows import ActionRow, Row, Tokens, TryRow


class FileDiff(TypedDict):
    path: str
    status: str
    """`added`, `modified` or `deleted`."""
    binary: bool
    patch: str
    lines: int
    """The number of lines of the whole patch."""
    truncated: bool
    """Whether the patch has fewer lines than `lines`."""


class ProofRow(TypedDict):
    """The result of a check that the engine ran."""

    label: str
    passed: bool
    red_before: bool
    detail: str
    """The relevant lines of the output."""
    exit_code: int | None
    output_hash: str
    duration_ms: int
    reused: bool
    """Whether it is an earlier result, valid because nothing that it depends on has changed."""


class ArtifactRow(TypedDict):
    """The result of a step, for the steps that need it."""

    id: str
    kind: str
    hash: str
    size: int
    summary: str


class StepDetail(TypedDict):
    step: Row
    attempts: list[TryRow]
    actions: list[ActionRow]
    proofs: list[ProofRow]
    artifacts: list[ArtifactRow]
    log: str


class Call(TypedDict):
    """A tool call that the model wrote."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    """An object, or the text of the model if that was not a JSON object."""


class Message(TypedDict):
    """A part of the conversation with the model."""

    id: str
    role: str
    purpose: str
    step: str | None
    text: str
    calls: list[Call]
    result_of: str | None
    """The id of the call whose result this is."""
    tokens: Tokens | None
    at: float | None
    truncated: int
    """How many characters of the text and of the arguments are left out."""
