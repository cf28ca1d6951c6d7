"""A file whose modification time says when a process last worked on a run."""

from pathlib import Path


class Heartbeat:
    """After a crash, separates file changes made by the run from changes that somebody made later."""

    def __init__(self, home: Path, run_id: str) -> None:
        self._file = home / "alive" / run_id
        self.last_before = self._last()
        """When an earlier process last worked on this run; None if no process did."""

    def beat(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.touch()

    def _last(self) -> float | None:
        try:
            return self._file.stat().st_mtime
        except FileNotFoundError:
            return None
