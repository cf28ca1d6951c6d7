import unittest

import shop
from shop.prices import order_total


class ShopTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(order_total([(2, 500), (1, 99)]), 1099)
        self.assertIs(shop.order_total, order_total)

    def test_summary(self):
        self.assertEqual(shop.summary([(1, 100)], 500), "goods 100, shipping 490")


if __name__ == "__main__":
    unittest.main()
