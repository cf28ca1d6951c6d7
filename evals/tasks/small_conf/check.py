"""The configuration is read as SPEC.md says, line by line."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from conf import parse\ndef message(text):\n    try:\n        parse(text)\n"
        "    except ValueError as error:\n        return str(error)\n",
        {
            "parse('[a]\\n k  =  v ')": {"a": {"k": "v"}},
            "parse('   # note\\n')": {},
            "parse('[s]')": {"s": {}},
            "parse('x = \" padded \"')": {"": {"x": " padded "}},
            'parse(\'x = "a "quoted" b"\')': {"": {"x": 'a "quoted" b'}},
            "parse('x = \"true\"\\ny = True\\nz = 1.5')": {"": {"x": "true", "y": "True", "z": "1.5"}},
            "parse('[a]\\nx = 1\\n[b]\\nx = 2')": {"a": {"x": 1}, "b": {"x": 2}},
            "parse('[a]\\nx = 1\\n[b]\\n[a]\\nx = 3')": Raises("ValueError"),
            "parse('[open')": Raises("ValueError"),
            "'7' in message('# 1\\n\\n\\n[a]\\nb = 2\\n\\noops')": True,
            "parse('k = -')": {"": {"k": "-"}},
            "parse('k = 007')": {"": {"k": 7}},
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
