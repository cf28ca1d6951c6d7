import tempfile
import unittest
from pathlib import Path

from inventory.items import Item
from inventory.store import NotEnough, Stock, UnknownItem


def stock():
    return Stock([Item("MUG-01", "Coffee mug", 10, 725, 4), Item("BAG-01", "Canvas bag", 2, 1650, 1)])


class Store(unittest.TestCase):
    def test_received_goods_are_added(self):
        self.assertEqual(stock().receive("MUG-01", 5).quantity, 15)

    def test_shipped_goods_are_taken_away(self):
        self.assertEqual(stock().ship("MUG-01", 10).quantity, 0)

    def test_more_than_there_is_cannot_be_shipped(self):
        with self.assertRaises(NotEnough):
            stock().ship("BAG-01", 3)

    def test_an_unknown_item_is_refused(self):
        with self.assertRaises(UnknownItem):
            stock().receive("CUP-01", 1)

    def test_the_value_is_the_sum_of_all_items(self):
        self.assertEqual(stock().value, 10 * 725 + 2 * 1650)

    def test_a_saved_stock_is_the_same_when_it_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "stock.csv")
            stock().save(path)
            self.assertEqual(Stock.load(path).items, stock().items)
