"""Records of the journal, and the encoding of events."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from surefoot.core.values import Value
from surefoot.errors import JournalError
from surefoot.journal.events.actions import (
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
from surefoot.journal.events.conversation import (
    CallAnswered,
    ContextGiven,
    ConversationGrew,
    ConversationMasked,
    ConversationOpened,
)
from surefoot.journal.events.people import ControlReceived, ControlRefused, QuestionAnswered, QuestionAsked
from surefoot.journal.events.run import (
    AlertFinished,
    AlertStarted,
    Applied,
    ApproachChosen,
    Committed,
    GateRefused,
    PhaseStarted,
    PlanMade,
    PlanRevised,
    Pushed,
    RunCreated,
    RunEnded,
    RunInterrupted,
    RunResumed,
    StageEntered,
    Understood,
    Validated,
    Warned,
    WorkspaceStored,
)
from surefoot.journal.events.steps import (
    CandidateTried,
    ChecksRan,
    Reflected,
    RolledBack,
    RungChosen,
    StepFinished,
    StepReset,
    StepStarted,
    UndoIncomplete,
    WorkKept,
)

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
    | UndoIncomplete
    | Applied
    | Committed
    | Pushed
    | WorkKept
    | CompensationStarted
    | CompensationFinished
    | LeftOutside
    | QuestionAsked
    | QuestionAnswered
    | ControlReceived
    | ControlRefused
    | ContextGiven
    | ConversationOpened
    | ConversationGrew
    | ConversationMasked
    | CallAnswered
    | Warned
    | WorkspaceStored
    | AlertStarted
    | AlertFinished
    | RunEnded,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


class Record(NamedTuple):
    """An event with its number and time."""

    seq: int
    at: float
    """Seconds since the epoch."""
    event: Event


as_record: Callable[[tuple[int, float, Event]], Record] = partial(tuple.__new__, Record)
"""Like `Record._make`, with one call fewer."""


def encode(event: Event) -> bytes:
    try:
        return _WRITERS[type(event)](event, exclude_defaults=True, serialize_as_any=False)
    except (PydanticSerializationError, ValueError) as error:
        raise JournalError(
            f"the event {event.type} holds something that cannot be written as JSON: {error}",
            remedy="use plain values and valid Unicode text",
        ) from error


def decode(kind: str, body: bytes) -> Event:
    """Decode an event. The body has no `type`, because the journal stores that in a column."""
    event: Event = _READERS[kind](body)
    return event


_CLASSES: tuple[type[Value], ...] = get_args(get_args(Event)[0])
KINDS: dict[type[Value], str] = {cls: cls.model_fields["type"].default for cls in _CLASSES}
"""The name of each event class in the journal. A lookup here is faster than reading `type` of an event."""
_BY_KIND = {kind: cls for cls, kind in KINDS.items()}


class _Readers(dict[str, Callable[[bytes], Any]]):
    """The decoders of the kinds that were read so far. Raises KeyError for an unknown kind."""

    def __missing__(self, kind: str) -> Callable[[bytes], Any]:
        cls = _BY_KIND[kind]
        cls.model_rebuild()
        self[kind] = reader = cls.__pydantic_validator__.validate_json
        return reader


class _Writers(dict[type[Value], Callable[..., bytes]]):
    """The encoders of the classes that were written so far."""

    def __missing__(self, cls: type[Value]) -> Callable[..., bytes]:
        cls.model_rebuild()
        self[cls] = writer = cls.__pydantic_serializer__.to_json
        return writer


_READERS, _WRITERS = _Readers(), _Writers()
