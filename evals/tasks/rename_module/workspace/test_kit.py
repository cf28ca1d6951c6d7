import pathlib
import unittest

import kit
from kit.table import column
from kit.texts import pad, widest


class KitTest(unittest.TestCase):
    def test_pad(self):
        self.assertEqual(pad("ab", 4), "ab  ")
        self.assertIs(kit.pad, pad)

    def test_column(self):
        self.assertEqual(column(["a", "bcd"]), ["a  ", "bcd"])
        self.assertEqual(widest([]), 0)

    def test_the_old_name_is_gone(self):
        self.assertFalse(pathlib.Path("kit/helpers.py").exists())
        for path in [*pathlib.Path("kit").glob("*.py"), pathlib.Path("README.md")]:
            self.assertNotIn("helpers", path.read_text(), f"{path} still has the old name")
