"""Makes the answers of `surefoot demo` from a run that was recorded with a model.

    surefoot run "TASK" -C PROJECT -m MODEL --check "CHECK" --record run.cassette
    python tests/cassettes/demo_answers.py run.cassette PROJECT_BEFORE_THE_RUN JOURNAL RUN

The journal has the seconds that each answer took. The demo plays the answers in their order.
"""

import json
import sys
from pathlib import Path
from typing import Any

from surefoot.journal.events import ModelAnswered, RunCreated
from surefoot.journal.store.reading import JournalReader

TARGET = Path(__file__).parents[2] / "src/surefoot/cli/demo/answers.json"


def answers(cassette: Path) -> list[dict[str, Any]]:
    found = []
    for line in cassette.read_text().splitlines()[1:]:
        reply = json.loads(line)["reply"]
        calls = [[part["name"], part["arguments"]] for part in reply["turn"]["parts"] if part["kind"] == "call"]
        found.append({"text": reply["text"], "calls": calls})
    return found


def main(cassette: Path, project: Path, journal: Path, run_id: str) -> None:
    events = [record.event for record in JournalReader(journal, busy_timeout=5.0).read(run_id, 0)]
    created = next(event for event in events if isinstance(event, RunCreated))
    seconds = [event.duration_ms / 1000 for event in events if isinstance(event, ModelAnswered)]
    timed = [{**answer, "seconds": each} for answer, each in zip(answers(cassette), seconds, strict=True)]
    files = {path.name: path.read_text() for path in sorted(project.iterdir()) if path.is_file()}
    check = created.task.checks[0].label
    document = {"task": created.task.text, "check": check, "files": files, "answers": timed}
    TARGET.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
