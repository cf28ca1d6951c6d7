import pathlib
import re
import unittest

from calc import evaluate


class CalcTest(unittest.TestCase):
    def test_precedence(self):
        self.assertEqual(evaluate("2+3*4"), 14)
        self.assertEqual(evaluate("(2 + 3) * 4"), 20)

    def test_left_to_right(self):
        self.assertEqual(evaluate("10-4-3"), 3)
        self.assertEqual(evaluate("8/4/2"), 1)

    def test_decimals_and_minus(self):
        self.assertAlmostEqual(evaluate("1.5*-2"), -3)
        self.assertEqual(evaluate("-(2+3)"), -5)
        self.assertEqual(evaluate("2--3"), 5)

    def test_refused(self):
        for text in ["", "2+", "(1", "1)", "2 3", "a", "2**3", "1..5", "()"]:
            with self.subTest(text), self.assertRaises(ValueError):
                evaluate(text)

    def test_zero(self):
        with self.assertRaises(ZeroDivisionError):
            evaluate("1/0")

    def test_no_eval(self):
        self.assertIsNone(re.search(r"\beval\(", pathlib.Path("calc.py").read_text()))
