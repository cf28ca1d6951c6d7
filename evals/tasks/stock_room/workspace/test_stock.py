import unittest

from stock import Stock


class StockTest(unittest.TestCase):
    def setUp(self):
        self.stock = Stock()
        self.stock.add("nail", 10)
        self.stock.add("bolt", 4)

    def test_counts(self):
        self.stock.add("nail", 5)
        self.assertEqual(self.stock.count("nail"), 15)
        self.assertEqual(self.stock.count("hook"), 0)
        self.assertEqual(self.stock.total(), 19)

    def test_take(self):
        self.stock.take("nail", 3)
        self.assertEqual(self.stock.count("nail"), 7)

    def test_take_too_much(self):
        with self.assertRaises(ValueError):
            self.stock.take("bolt", 5)
        self.assertEqual(self.stock.count("bolt"), 4)

    def test_bad_counts(self):
        for count in (0, -1, 1.5, "2"):
            with self.subTest(count), self.assertRaises(ValueError):
                self.stock.add("nail", count)
        with self.assertRaises(ValueError):
            self.stock.take("nail", 0)

    def test_items(self):
        self.stock.take("bolt", 4)
        self.assertEqual(self.stock.items(), ["nail"])

    def test_two_rooms(self):
        self.assertEqual(Stock().total(), 0)
