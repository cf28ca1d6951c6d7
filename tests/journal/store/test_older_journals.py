"""Journals that earlier versions wrote open and fold to the same state."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from surefoot.history.decisions import decisions
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal

OLDER = Path(__file__).parent / "older"


@pytest.mark.req("P14")
@pytest.mark.parametrize("version", ["0.1.0"])
def test_a_journal_of_an_earlier_version_folds_to_the_same_state(version: str, tmp_path: Path) -> None:
    """Five runs: verified after a retry, by candidates, failed, waiting for an answer, and a given plan."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(lzma.decompress((OLDER / f"{version}.sqlite.xz").read_bytes()))
    journal = SqliteJournal(path, read_only=True)
    found: dict[str, Any] = {}
    for summary in journal.summaries():
        records = list(journal.read(summary.run_id))
        state = fold(records)
        found[Path(summary.workspace).name] = {
            "stage": state.stage,
            "tokens": state.tokens,
            "steps": {
                step_id: [s.status, s.attempt, s.step_retry_count, s.rungs, len(s.actions), len(s.candidates)]
                for step_id, s in state.steps.items()
            },
            "questions": len(state.questions),
            "events": len(records),
            "verdict": summary.verdict,
            "outcome": state.outcome.summary if state.outcome else None,
            "decisions": [[d.kind, d.tool, d.ok, d.step_id] for d in decisions(records)],
            "tried": state.tried,
            "history": [[r.status, r.output.step_id] for r in state.history if r.output],
        }
    journal.close()
    assert json.loads(json.dumps(found)) == json.loads((OLDER / f"{version}.json").read_text("utf-8"))
