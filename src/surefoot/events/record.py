"""An event in its place in the journal, and as the journal writes it down."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from surefoot.errors import JournalError
from surefoot.events.actions import (
    ActionFinished,
    ActionInterrupted,
    ActionRefused,
    ActionStarted,
    CompensationFinished,
    CompensationStarted,
    Decided,
    LeftOutside,
    ModelAnswered,
    ModelRetried,
)
from surefoot.events.people import (
    ControlReceived,
    ControlRefused,
    QuestionAnswered,
    QuestionAsked,
)
from surefoot.events.run import (
    ApproachChosen,
    GateRefused,
    PhaseStarted,
    PlanMade,
    PlanRevised,
    RunCreated,
    RunEnded,
    RunInterrupted,
    RunResumed,
    StageEntered,
    Understood,
    Validated,
    Warned,
)
from surefoot.events.steps import (
    CandidateTried,
    ChecksRan,
    Reflected,
    RolledBack,
    RungChosen,
    StepFinished,
    StepReset,
    StepStarted,
    WorkKept,
)
from surefoot.values import Value

Event: TypeAlias = Annotated[
    RunCreated
    | RunResumed
    | RunInterrupted
    | StageEntered
    | PhaseStarted
    | GateRefused
    | Understood
    | ApproachChosen
    | PlanMade
    | PlanRevised
    | Validated
    | StepStarted
    | ChecksRan
    | ModelAnswered
    | ModelRetried
    | Decided
    | ActionStarted
    | ActionFinished
    | ActionRefused
    | ActionInterrupted
    | CandidateTried
    | StepFinished
    | StepReset
    | Reflected
    | RungChosen
    | RolledBack
    | WorkKept
    | CompensationStarted
    | CompensationFinished
    | LeftOutside
    | QuestionAsked
    | QuestionAnswered
    | ControlReceived
    | ControlRefused
    | Warned
    | RunEnded,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event)


class Record(NamedTuple):
    """An event in its place in the journal."""

    seq: int
    at: float
    """Seconds since the epoch."""
    event: Event


as_record: Callable[[tuple[int, float, Event]], Record] = partial(tuple.__new__, Record)
"""What `Record._make` does, in one call."""


def encode(event: Event) -> bytes:
    try:
        return _WRITERS[type(event)](event, exclude_defaults=True, serialize_as_any=False)
    except (PydanticSerializationError, ValueError) as error:
        raise JournalError(
            f"the event {event.type} holds something that cannot be written as JSON: {error}",
            remedy="this is text that is not valid Unicode, or an object: hand over plain text, numbers and lists",
        ) from error


def decode(kind: str, body: bytes) -> Event:
    """`exclude_defaults` drops the tag, which the journal keeps in its own column."""
    event: Event = _READERS[kind](body)
    return event


_CLASSES: tuple[type[Value], ...] = get_args(get_args(Event)[0])
KINDS: dict[type[Value], str] = {cls: cls.model_fields["type"].default for cls in _CLASSES}
"""What an event's class is called in the journal. Attributes of values are slow to read, also that of their class."""
_READERS: dict[str, Callable[[bytes], Any]] = {KINDS[cls]: cls.__pydantic_validator__.validate_json for cls in _CLASSES}
_WRITERS: dict[type[Value], Callable[..., bytes]] = {cls: cls.__pydantic_serializer__.to_json for cls in _CLASSES}
