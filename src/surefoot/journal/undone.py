"""Whether the changes of a run were undone after it ended: when, by whom, and how many of them. Does no I/O."""

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
    """The first step that was undone; empty if the whole run was."""
    snapshot: str = ""
    """The snapshot of the run that was restored, if it is neither the beginning of the run nor that of a step."""
    folder: str = ""
    """The folder from which the changes were removed, for a run that worked in a copy."""
    missing: tuple[str, ...] = ()
    """Files that could not be restored because the disk was full. Undoing again restores them."""
    redo: str = ""
    """The snapshot that still has the changes."""
    checked: bool = False
    """Whether the checks ran again after the undo. If not, the outcome of the run describes another tree."""
    review_taken_back: bool = False
    """Whether the undo restored what a review had changed. The outcome is still that of the review."""

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
    """By snapshot that was taken before an undo: what had been undone at that time."""
    _reviews: set[str] = field(default_factory=set)
    """The snapshots that were taken before a review. They are kept when the run is resumed to run the checks."""

    def apply(self, event: Any, at: float) -> None:
        """Take an event into account. It may be an `Event` or an `UndoEvent`, which have the same attributes."""
        match event.type:
            case "run_created":
                self.start = event.snapshot
            case "run_resumed":
                self.current = None
                # Snapshots from before the resume are no longer the result of the run.
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
            # If the run continued after the review, the outcome already describes what is left.
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
    """The fields of a stored event that matter for an undo. Listing runs with all event classes would be slow."""

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
        """Decode a stored event. Raises ValueError if the body is damaged."""
        stored = json.loads(body)
        if not isinstance(stored, dict):
            raise ValueError(f"the body of {kind} is not an object")
        known = {name: stored[name] for name in _STORED if name in stored}
        if not all(isinstance(value, _STORED[name]) for name, value in known.items()):
            raise ValueError(f"the body of {kind} has values of another type")
        return UndoEvent(kind, **known)


_STORED = {each.name: (type(each.default), list) for each in fields(UndoEvent) if each.name != "type"}
"""The names of the fields, and the types that their values may have in JSON."""
_KINDS = ("run_created", "run_resumed", "rolled_back", "undo_incomplete", "applied")


def undone_by(events: "Iterable[tuple[float, str, bytes]]") -> "UndoLabel":
    """Return the undo label of a run for the list of runs, given the times, kinds and bodies of its events."""
    history = UndoHistory()
    for at, kind, body in events:
        if kind in _KINDS:
            history.apply(UndoEvent.read(kind, body), at)
    if history.current is None:
        return ""
    return "partly undone" if history.current.is_partial else "undone"
