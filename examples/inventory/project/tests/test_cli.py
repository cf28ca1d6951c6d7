import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from inventory.cli import main

STOCK = "sku,name,quantity,price,reorder_at\nMUG-01,Coffee mug,10,7.25,4\nBAG-01,Canvas bag,2,16.50,1\n"


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stock = Path(folder.name, "stock.csv")
        self.stock.write_text(STOCK, encoding="utf-8")

    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["--stock", str(self.stock), *arguments])
        return code, out.getvalue(), err.getvalue()

    def test_list(self):
        code, out, _ = self.run_command("list")
        self.assertEqual(code, 0)
        self.assertIn("Coffee mug", out)
        self.assertIn("16.50", out)

    def test_value(self):
        self.assertEqual(self.run_command("value")[1], "105.50\n")

    def test_receive_and_ship_change_the_file(self):
        self.run_command("receive", "MUG-01", "5")
        self.assertEqual(self.run_command("ship", "MUG-01", "1")[1], "MUG-01: 14\n")
        self.assertIn("MUG-01,Coffee mug,14,7.25,4", self.stock.read_text(encoding="utf-8"))

    def test_an_unknown_item_is_an_error(self):
        code, _, err = self.run_command("ship", "CUP-01", "1")
        self.assertEqual((code, err), (1, "inventory: there is no item CUP-01\n"))
