"""Four functions in two modules, one setting, nothing twice, and the setting is really used."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept(but=["shapes.py"])
    work.absent("shapes.py", "shapes.py is still there")
    sources = "\n".join(work.text(name) for name in work.names() if name.startswith("shapes/") and name.endswith(".py"))
    for function in ("circle_area", "box_area", "ball_volume", "box_volume"):
        require(
            len(re.findall(rf"^\s*def {function}\b", sources, re.M)) == 1, f"{function} is not defined exactly once"
        )
    require(len(re.findall(r"^PRECISION\s*(?::\s*\w+\s*)?=", sources, re.M)) == 1, "PRECISION is not set exactly once")
    work.tests_pass()
    work.answers(
        "import shapes, shapes.area, shapes.volume, shapes.settings",
        {
            "shapes.box_area is shapes.area.box_area and shapes.box_volume is shapes.volume.box_volume": True,
            "shapes.area.circle_area.__module__": "shapes.area",
            "shapes.volume.box_volume.__module__": "shapes.volume",
            "shapes.box_volume(1.111, 2, 3)": 6.66,
            "shapes.circle_area(2)": 12.57,
        },
    )
    work.answers(
        "from shapes import box_area, circle_area",
        {"circle_area(1)": 3.1416, "box_area(1.00005, 1)": 1.0001},
        files={"shapes/settings.py": "PRECISION = 4\n"},
    )


if __name__ == "__main__":
    judge(__file__, check)
