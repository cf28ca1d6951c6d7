"""Whether the changes of a run were undone after it: when, by whom, and how much of them. Pure."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.journal.store.base import UndoLabel


@dataclass(frozen=True, slots=True)
class Undone:
    at: float
    """Seconds since the epoch."""
    by: str = ""
    """Who did it, and with which command. Empty in journals of older versions."""
    step: str = ""
    """The step from which on it was undone; empty if the whole run was."""
    snapshot: str = ""
    """The snapshot of the run that was restored, if it is neither the beginning of the run nor that of a step."""
    folder: str = ""
    """The folder from which the changes were removed, for a run that worked in a copy."""
    missing: tuple[str, ...] = ()
    """Files that could not be restored for lack of room. Undoing again restores them."""
    redo: str = ""
    """The snapshot that has the changes."""
    checked: bool = False
    """Whether the checks ran again after it. Otherwise the outcome of the run is that of another tree."""
    review_taken_back: bool = False
    """Whether this restored what a review had changed. The outcome is that of the review."""

    @property
    def is_partial(self) -> bool:
        return bool(self.step or self.snapshot or self.missing)

    def as_object(self) -> dict[str, Any]:
        return {**asdict(self), "missing": list(self.missing), "partial": self.is_partial}


@dataclass(slots=True)
class UndoHistory:
    """Folds the events of undos."""

    current: Undone | None = None
    start: str = ""
    """The snapshot before the run."""
    _before: str = ""
    _points: dict[str, Undone | None] = field(default_factory=dict)
    """By snapshot that was taken for an undo: what had been undone then."""
    _reviews: set[str] = field(default_factory=set)
    """The snapshots that were taken before a review. They stay known when the checks ran after it."""

    def apply(self, event: Any, at: float) -> None:
        """Take an event into account. It may be an `Event` or an `UndoEvent`, which have the same attributes."""
        match event.type:
            case "run_created":
                self.start = event.snapshot
            case "run_resumed":
                self.current = None
                # What is restored from before this is not the result of the run any more.
                self._points.clear()
            case "rolled_back" if not event.step_id:
                self._rolled_back(event, at)
            case "undo_incomplete" if self.current is not None:
                self.current = replace(self.current, missing=tuple(event.paths))
            case "applied":
                redo = event.before
                self.current = Undone(at, event.by, folder=event.folder, redo=redo) if event.reverts else None

    def _rolled_back(self, event: Any, at: float) -> None:
        if event.scope == "review" and not event.snapshot:
            # The outcome is that of what is left, if the run went on after the review.
            self.current = Undone(at, event.by, redo=self._before, checked=self.current is None)
        elif event.scope or event.paths or event.towards:
            self.current = self._after(event, at)
            if event.scope == "review":
                self._reviews.add(self._before)
        else:
            self._before = event.snapshot
            self._points[event.snapshot] = self.current

    def _after(self, event: Any, at: float) -> Undone | None:
        if event.redoes in self._points or not (event.towards or event.scope or event.redoes):
            return self._points.get(event.redoes)
        whole = event.scope == "run" or (not event.scope and event.towards == self.start)
        return Undone(
            at,
            event.by,
            step=event.from_step,
            snapshot="" if whole or event.from_step else event.towards or event.redoes,
            redo=self._before,
            review_taken_back=(event.redoes or event.towards) in self._reviews,
        )


@dataclass(slots=True)
class UndoEvent:
    """What an undo needs of a stored event. For a list of runs, which would be slow if it had to import all events."""

    type: str
    step_id: str = ""
    snapshot: str = ""
    paths: tuple[str, ...] = ()
    towards: str = ""
    by: str = ""
    scope: str = ""
    from_step: str = ""
    redoes: str = ""
    reverts: bool = False
    folder: str = ""
    before: str = ""

    @staticmethod
    def read(kind: str, body: bytes) -> "UndoEvent":
        """Raises ValueError if the body is damaged."""
        stored = json.loads(body)
        if not isinstance(stored, dict):
            raise ValueError(f"the body of {kind} is no object")
        known = {name: stored[name] for name in _STORED if name in stored}
        if not all(isinstance(value, _STORED[name]) for name, value in known.items()):
            raise ValueError(f"the body of {kind} has values of another type")
        return UndoEvent(kind, **known)


_STORED = {each.name: (type(each.default), list) for each in fields(UndoEvent) if each.name != "type"}
"""The names, and of which types their values are in JSON."""
_KINDS = ("run_created", "run_resumed", "rolled_back", "undo_incomplete", "applied")


def undone_by(events: "Iterable[tuple[float, str, bytes]]") -> "UndoLabel":
    """What the list of runs says of the undo of a run, given the times, kinds and bodies of its events."""
    history = UndoHistory()
    for at, kind, body in events:
        if kind in _KINDS:
            history.apply(UndoEvent.read(kind, body), at)
    if history.current is None:
        return ""
    return "partly undone" if history.current.is_partial else "undone"
