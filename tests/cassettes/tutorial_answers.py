"""Makes the answers of the tutorial from recorded runs, in a copy of examples/inventory/project.

    surefoot run "TASK" -m MODEL --check "CHECK" --record fix.cassette
    python tests/cassettes/tutorial_answers.py fix.cassette feature.cassette delivery.cassette

Each becomes examples/inventory/answers/NAME.json, for `-m scripted:FILE`, which gives the answers in their order. The
present ones were written by hand in the place of a model, through a server that shows what a model sees.
"""

import json
import sys
from pathlib import Path

from cassettes.demo_answers import answers

TARGET = Path(__file__).parents[2] / "examples/inventory/answers"


def main(cassettes: list[Path]) -> None:
    for cassette in cassettes:
        document = json.dumps(answers(cassette), indent=1, ensure_ascii=False)
        (TARGET / f"{cassette.stem}.json").write_text(document + "\n", encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
