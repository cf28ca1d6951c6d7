"""The field is kept, shown and optional in every place."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["models.py", "store.py", "show.py"])
    work.answers(
        "import json, os, tempfile\nfrom models import Book\nfrom show import show\nfrom store import load, save\n"
        "path = os.path.join(tempfile.mkdtemp(dir='.'), 'b.json')\n"
        'mixed = \'[{"title": "a", "author": "b", "year": 1}, \'\n'
        'mixed += \'{"title": "c", "author": "d", "year": 2, "isbn": "7"}]\'\n',
        [
            ("show(Book('a', 'b', 3))", "《a》b（3）"),
            ("show(Book('a', 'b', 3, '99'))", "《a》b（3） ISBN 99"),
            ("save([Book('a', 'b', isbn='5')], path)", None),
            ("json.load(open(path, encoding='utf-8'))", [{"title": "a", "author": "b", "year": 0, "isbn": "5"}]),
            ("open(path, 'w').write(mixed) > 0", True),
            ("[book.isbn for book in load(path)]", ["", "7"]),
            ("load(path) == [Book('a', 'b', 1), Book('c', 'd', 2, '7')]", True),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)
