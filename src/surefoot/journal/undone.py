"""Whether the changes of a run were undone after it: when, by whom, and how much of them. Pure."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from surefoot.journal import events as e


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

    def apply(self, event: object, at: float) -> None:
        match event:
            case e.RunCreated():
                self.start = event.snapshot
            case e.RunResumed():
                self.current = None
                # What is restored from before this is not the result of the run any more.
                self._points.clear()
            case e.RolledBack(step_id="", snapshot="", scope="review"):
                # The outcome is that of what is left, if the run went on after the review.
                self.current = Undone(at, event.by, redo=self._before, checked=self.current is None)
            case e.RolledBack(step_id="") if event.scope or event.paths or event.towards:
                self.current = self._after(event, at)
                if event.scope == "review":
                    self._reviews.add(self._before)
            case e.RolledBack(step_id=""):
                self._before = event.snapshot
                self._points[event.snapshot] = self.current
            case e.UndoIncomplete():
                if self.current is not None:
                    self.current = replace(self.current, missing=event.paths)
            case e.Applied(reverts=True):
                self.current = Undone(at, event.by, folder=event.folder, redo=event.before)
            case e.Applied():
                self.current = None

    def _after(self, event: e.RolledBack, at: float) -> Undone | None:
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
