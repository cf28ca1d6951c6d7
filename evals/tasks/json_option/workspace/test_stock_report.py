import contextlib
import io
import unittest

from stock_report import main


class ReportTest(unittest.TestCase):
    def test_text(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            main(["stock.txt"])
        self.assertEqual(printed.getvalue(), "nail: 15\nwing nut: 4\n")


if __name__ == "__main__":
    unittest.main()
