"""Kills a story at one point after the other, lets it go on, and looks whether anything came out differently."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crash.points import ENOUGH, killed, points_of
from crash.story import Story, done_once, essence
from support.trees import photograph, scratch
from surefoot.core.transitions import Stage
from surefoot.journal import events as e
from surefoot.journal.reducers import fold


@dataclass
class Findings:
    """What a sweep found, for the line that it prints."""

    points: int = 0
    killed: int = 0
    lost: list[str] = field(default_factory=list)
    """Acknowledged, and not there afterwards."""
    repeated: list[str] = field(default_factory=list)
    """Recorded as done, and done again."""
    different: list[str] = field(default_factory=list)
    """Another tree or another state at the end."""

    @property
    def problems(self) -> list[str]:
        return [*self.lost, *self.repeated, *self.different]

    def __str__(self) -> str:
        return (
            f"{self.points} points, killed at {self.killed} of them: "
            f"{len(self.lost)} lost, {len(self.repeated)} repeated, {len(self.different)} ended differently"
        )


class Sweep:
    def __init__(self, folder: Path, *, replans: bool = False, story: Story | None = None) -> None:
        self._folder = folder
        self.story = story or Story(folder / "story", replans)
        self.story.put_up()
        self.before = photograph(self.story.root, times=False)
        self.kinds = points_of(self.story.begin_or_go_on, folder / "report")
        self.tree = photograph(self.story.root, times=False)
        self.essence = essence(fold(self.story.records()))
        self.requests = [r.event.request for r in self.story.records() if isinstance(r.event, e.ModelAnswered)]
        self.begin()

    def begin(self) -> None:
        self.findings = Findings(points=len(self.kinds))

    def some(self, count: int) -> range:
        """So many of the points, evenly; all of them for 0."""
        step = max(self.findings.points // count, 1) if count else 1
        return range(1 + step // 2, self.findings.points + 1, step)

    def where(self, kind: str, number: int) -> int:
        """The n-th point of that kind."""
        return [at for at, found in enumerate(self.kinds, 1) if found == kind][number - 1]

    def kill_at(self, *points: int) -> int:
        """Kills the run at the first point, what resumes it at the second, and so on; then lets it finish. How often it
        was killed: one that has fewer points than that comes to its end before."""
        self.story.put_up_again()
        where = "killed at " + ", then ".join(map(str, points))
        times = 0
        for at in (*points, ENOUGH):
            with self._nothing_repeated(where):
                was_killed = killed(self.story.begin_or_go_on, at)
            if not was_killed:
                break
            times += 1
        self.findings.killed += times
        self._compare(where)
        return times

    # -- undoing it ------------------------------------------------------------------------------------------------

    def finish_run(self) -> None:
        """The run done, to be put up again and again."""
        self.story.put_up_again()
        assert not killed(self.story.begin_or_go_on, ENOUGH)
        self._keep = self._folder / "finished"
        shutil.rmtree(self._keep, ignore_errors=True)
        subprocess.run(["cp", "-a", self.story.folder, self._keep], check=True)

    def _put_up_finished(self) -> None:
        shutil.rmtree(self.story.folder)
        subprocess.run(["cp", "-a", self._keep, self.story.folder], check=True)

    def count_undo(self) -> int:
        points = len(points_of(self.story.undo, self._folder / "report"))
        assert photograph(self.story.root, times=False) == self.before
        return points

    def kill_undo_at(self, at: int) -> None:
        """Afterwards either the next command in the workspace completes it, or the same undo again does."""
        self._put_up_finished()
        where = f"undo killed at {at}"
        if killed(self.story.undo, at):
            self.findings.killed += 1
        half = photograph(self.story.root, times=False)
        if at % 2:
            self.story.next_command()
            completed = photograph(self.story.root, times=False)
            if completed not in (self.before, self.tree):
                self.findings.different.append(f"{where}: neither done nor undone")
        if half != self.tree:
            self.story.next_command()
            if difference := first_difference(self.before, photograph(self.story.root, times=False)):
                self.findings.different.append(f"{where}: half-done, {difference}")
        assert not killed(self.story.undo, ENOUGH)
        if difference := first_difference(self.before, photograph(self.story.root, times=False)):
            self.findings.different.append(f"{where}: {difference}")
        if fold(self.story.records()).stage is not Stage.COMPLETED:
            self.findings.lost.append(f"{where}: the run is no longer completed")

    # -- looking at it ---------------------------------------------------------------------------------------------

    @contextmanager
    def _nothing_repeated(self, where: str) -> Iterator[None]:
        """Around what goes on: what is recorded as done is not done again, and what was acknowledged is there then."""
        done, before = done_once(self.story.records()), self.story.carried_out()
        yield
        kept, after = len(self.story.records()), self.story.carried_out()
        if kept < self.story.last_acknowledged():
            self.findings.lost.append(f"{where}: {kept} of {self.story.last_acknowledged()} events")
        again = [name for name in done if after[name] != before[name]]
        self.findings.repeated += [f"{where}: {name} was carried out again" for name in again]

    def _compare(self, where: str) -> None:
        records = self.story.records()
        if self.story.carried_out() - _started(records):
            self.findings.repeated.append(f"{where}: carried out without a record, {self.story.carried_out()}")
        if difference := first_difference(self.tree, photograph(self.story.root, times=False)):
            self.findings.different.append(f"{where}: in the tree, {difference}")
        if not self.story.ends_in_the_same_state():
            return
        if difference := first_difference(self.essence, essence(fold(records))):
            self.findings.different.append(f"{where}: in the state, {difference}")


def _started(records: list[e.Record]) -> Counter[str]:
    commands = [r.event.arguments.get("command", "") for r in records if isinstance(r.event, e.ActionStarted)]
    return Counter(command.split()[1] for command in commands if command)


def first_difference(wanted: Any, found: Any, at: str = "") -> str:
    """Where two nested values differ, in words; nothing when they do not."""
    if wanted == found:
        return ""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            if wanted.get(key, ...) != found.get(key, ...):
                return first_difference(wanted.get(key, "(none)"), found.get(key, "(none)"), f"{at}/{key}")
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            if one != other:
                return first_difference(one, other, f"{at}/{index}")
    return f"{at}: {str(wanted)[:300]} became {str(found)[:300]}"


@contextmanager
def sweeping(*, replans: bool = False) -> Iterator[Sweep]:
    with scratch() as folder:
        yield Sweep(folder, replans=replans)
