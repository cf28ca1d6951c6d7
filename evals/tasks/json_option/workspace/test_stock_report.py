import contextlib
import io
import json
import unittest

from stock_report import main


class ReportTest(unittest.TestCase):
    def test_text(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            main(["stock.txt"])
        self.assertEqual(printed.getvalue(), "nail: 15\nwing nut: 4\n")

    def test_json(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            main(["--json", "stock.txt"])
        self.assertEqual(json.loads(printed.getvalue()), {"nail": 15, "wing nut": 4})
