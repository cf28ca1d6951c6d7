"""The three small tasks of `surefoot model test`, the easiest first. They need only Python."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SmallTask:
    name: str
    text: str
    checks: tuple[str, ...]
    files: Mapping[str, str]
    good_for: str
    """The kind of work that a model can do if it does this task, in words."""


_TEST_SHORTEN = """\
import unittest

from shorten import shorten


class ShortenTest(unittest.TestCase):
    def test_short_texts_stay(self):
        self.assertEqual(shorten("", 5), "")
        self.assertEqual(shorten("hello", 5), "hello")

    def test_long_texts_are_cut(self):
        self.assertEqual(shorten("hello world", 8), "hello...")
        self.assertEqual(shorten("hello!", 5), "he...")
"""
_LEDGER = '''\
"""Reads the lines of a ledger."""


def parse(line):
    """Return date, text and amount in cents: "2026-01-05; coffee; 3,50" is ("2026-01-05", "coffee", 350).

    There may be spaces around every part. An amount has one or two digits behind its comma, or no comma.
    """
    date, text, amount = line.split(";")
    euros, _, cents = amount.partition(",")
    return date, text, int(euros) * 100 + int(cents or 0)
'''
_SUMMARY = '''\
"""Sums of a ledger."""

from ledger import parse


def by_month(lines):
    """Return the sum of all amounts in cents by month, as {"2026-01": 350}."""
    totals = {}
    for line in lines:
        date, _, cents = parse(line)
        totals[date[:4]] = cents
    return totals
'''
_TEST_SUMMARY = """\
import unittest

from ledger import parse
from summary import by_month


class LedgerTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("2026-01-05; coffee; 3,50"), ("2026-01-05", "coffee", 350))
        self.assertEqual(parse("2026-01-05;tea;2"), ("2026-01-05", "tea", 200))
        self.assertEqual(parse("2026-01-06; cake ; 4,5"), ("2026-01-06", "cake", 450))

    def test_by_month(self):
        lines = ["2026-01-05; coffee; 3,50", "2026-01-31; tea; 2", "2026-02-01; cake; 4,05", "2025-01-01; tea; 1"]
        self.assertEqual(by_month(lines), {"2026-01": 550, "2026-02": 405, "2025-01": 100})
"""
_STOCK = '''\
"""What is in a store."""


class Stock:
    def __init__(self):
        self._counts = {}

    def add(self, name, amount):
        """Put some of an item into the stock."""
        if amount <= 0:
            raise ValueError("the amount must be above 0")
        self._counts[name] = self._counts.get(name, 0) + amount

    def take(self, name, amount):
        """Take some of an item out. Raises ValueError if there is not enough."""
        if amount <= 0 or amount > self.count(name):
            raise ValueError("there is not enough")
        self._counts[name] -= amount

    def count(self, name):
        """How much of an item is there."""
        return self._counts.get(name, 0)
'''
_TEST_STOCK = """\
import unittest

from stock import Stock


class StockTest(unittest.TestCase):
    def test_add_and_take(self):
        stock = Stock()
        stock.add("nail", 5)
        stock.take("nail", 2)
        self.assertEqual(stock.count("nail"), 3)

    def test_not_enough(self):
        with self.assertRaises(ValueError):
            Stock().take("nail", 1)


if __name__ == "__main__":
    unittest.main()
"""
_CHECK_MOVE = '''\
"""Ends with 0 if Stock.move does what was asked, and a test in test_stock.py fails when it does nothing."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from stock import Stock

here, there = Stock(), Stock()
here.add("nail", 5)
here.move("nail", 2, there)
assert (here.count("nail"), there.count("nail")) == (3, 2), "move does not take from one stock and add to the other"
try:
    here.move("nail", 4, there)
except ValueError:
    pass
else:
    sys.exit("move takes more than there is")
assert (here.count("nail"), there.count("nail")) == (3, 2), "a refused move changes something"

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for file in ("stock.py", "test_stock.py"):
        shutil.copy(file, folder)
    with (folder / "stock.py").open("a") as broken:
        broken.write("\\n\\nStock.move = lambda self, *arguments, **named: None\\n")
    tests = [sys.executable, "-m", "unittest", "-q", "test_stock"]
    if subprocess.run(tests, cwd=folder, capture_output=True).returncode == 0:
        sys.exit("no test in test_stock.py fails when Stock.move does nothing")
'''

TASKS = (
    SmallTask(
        "write a function",
        "Write shorten.py with a function shorten(text, limit). It returns a text of at most `limit` characters as it "
        "is. Of a longer one it returns the first `limit` - 3 characters, followed by three dots.",
        ("python3 -m unittest -q test_shorten",),
        {"test_shorten.py": _TEST_SHORTEN},
        "single functions",
    ),
    SmallTask(
        "fix a bug in two files",
        "The tests in test_summary.py fail. Fix ledger.py and summary.py so that they do what their docstrings say.",
        ("python3 -m unittest -q test_summary",),
        {"ledger.py": _LEDGER, "summary.py": _SUMMARY, "test_summary.py": _TEST_SUMMARY},
        "fixes across files",
    ),
    SmallTask(
        "a change with a test",
        "Add a method move(name, amount, other) to the class Stock in stock.py. It takes an amount of an item out of "
        "this stock and puts it into the stock `other`. It raises ValueError and changes nothing if there is not "
        "enough. Add a test for it to test_stock.py.",
        ("python3 -m unittest -q test_stock", "python3 check_move.py"),
        {"stock.py": _STOCK, "test_stock.py": _TEST_STOCK, "check_move.py": _CHECK_MOVE},
        "changes with their tests",
    ),
)
