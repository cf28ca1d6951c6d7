"""The rows have their types, quoted titles are whole and what is empty is NULL."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, refuse, require


def check(work: Submission) -> None:
    work.given_files_kept()
    path = work.copy() / "library.db"
    require(path.is_file() and not path.is_symlink(), "there is no library.db")
    try:
        with sqlite3.connect(path) as database:
            columns = database.execute("SELECT name, upper(type), pk FROM pragma_table_info('books')").fetchall()
            rows = database.execute("SELECT id, title, year, price FROM books ORDER BY id").fetchall()
    except sqlite3.Error as wrong:
        refuse(f"library.db cannot be read: {wrong}")
    expected = [("id", "INTEGER", 1), ("title", "TEXT", 0), ("year", "INTEGER", 0), ("price", "REAL", 0)]
    require(columns == expected, f"the columns of books are {columns}")
    wanted = [
        (1, "Salt, Sand and Stone", 2004, 12.99),
        (3, "The Long Quay", 1987, 7.5),
        (5, 'The "Other" Garden', 1999, None),
        (8, "Night Ferry", None, 4.0),
    ]
    require(rows == wanted, f"books holds {rows}")


if __name__ == "__main__":
    judge(__file__, check)
