"""The stock, and the CSV file that it is kept in."""

import csv
from pathlib import Path

from inventory.items import Item
from inventory.money import format_price, parse_price

COLUMNS = ("sku", "name", "quantity", "price", "reorder_at")


class UnknownItem(Exception):
    pass


class NotEnough(Exception):
    pass


class Stock:
    def __init__(self, items: list[Item]) -> None:
        self.items = {item.sku: item for item in items}

    @classmethod
    def load(cls, path: Path) -> "Stock":
        with path.open(encoding="utf-8", newline="") as file:
            return cls([_item(row) for row in csv.DictReader(file)])

    def save(self, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for item in self.items.values():
                writer.writerow((item.sku, item.name, item.quantity, format_price(item.cents), item.reorder_at))

    def find(self, sku: str) -> Item:
        if sku not in self.items:
            raise UnknownItem(f"there is no item {sku}")
        return self.items[sku]

    def receive(self, sku: str, count: int) -> Item:
        item = self.find(sku)
        item.quantity += count
        return item

    def ship(self, sku: str, count: int) -> Item:
        item = self.find(sku)
        if count > item.quantity:
            raise NotEnough(f"there are only {item.quantity} of {sku}")
        item.quantity -= count
        return item

    @property
    def value(self) -> int:
        return sum(item.value for item in self.items.values())


def _item(row: dict[str, str]) -> Item:
    return Item(row["sku"], row["name"], int(row["quantity"]), parse_price(row["price"]), int(row["reorder_at"]))
