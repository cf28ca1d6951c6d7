"""Whether `deliver` books the supplier's delivery of October: python3 checks/delivery.py"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, ".")
from inventory.store import Stock

RECEIVED = {
    "LAMP-01": 137,
    "LAMP-02": 190,
    "MUG-01": 91,
    "MUG-02": 72,
    "NOTE-01": 178,
    "NOTE-02": 61,
    "PEN-01": 213,
    "BAG-01": 203,
}
"""The sums on the supplier's invoice."""

with tempfile.TemporaryDirectory() as folder:
    stock = shutil.copy("stock.csv", folder)
    before = Stock.load(Path(stock))
    command = [sys.executable, "-m", "inventory", "--stock", stock, "deliver", "delivery.csv"]
    process = subprocess.run(command, text=True, capture_output=True)
    if process.returncode:
        sys.exit(f"deliver ended with {process.returncode}: {process.stderr.strip()[-400:]}")
    after = Stock.load(Path(stock))

for sku, count in RECEIVED.items():
    booked = after.find(sku).quantity - before.find(sku).quantity
    if booked != count:
        sys.exit(f"{sku}: {booked} were booked, but {count} are on the invoice")
