"""The module has moved with everything that names it, also by text."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept(but=["kit/", "README.md"])
    work.absent("kit/helpers.py", "kit/helpers.py is still there")
    for name in work.names():
        if name == "README.md" or (name.startswith("kit/") and name.endswith(".py")):
            require("helpers" not in work.text(name), f"{name} still mentions helpers")
    require(
        "kit.texts" in work.text("README.md") and "kit/texts.py" in work.text("README.md"), "README.md lost a mention"
    )
    work.answers(
        "import kit, kit.table, kit.plugins, kit.texts",
        {
            "kit.pad('x', 3)": "x  ",
            "kit.texts.widest(['a', 'bb'])": 2,
            "kit.table.column([])": [],
            "sorted(kit.plugins.load())": ["table", "texts"],
            "kit.plugins.load()['texts'] is kit.texts": True,
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
