import unittest

from basket import Basket


class BasketTest(unittest.TestCase):
    def test_total(self):
        basket = Basket([("tea", 300)])
        basket.put("milk", 120)
        self.assertEqual(basket.total(), 420)

    def test_baskets_are_apart(self):
        one, other = Basket(), Basket()
        one.put("tea", 300)
        self.assertEqual(other.total(), 0)

    def test_the_list_given_is_not_touched(self):
        lines = [("tea", 300)]
        Basket(lines).put("milk", 120)
        self.assertEqual(lines, [("tea", 300)])
