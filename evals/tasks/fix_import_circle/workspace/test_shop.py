import unittest


class ShopTest(unittest.TestCase):
    def test_order(self):
        import shop

        order = shop.Customer("Ann").buy(1250)
        self.assertIsInstance(order, shop.Order)
        self.assertEqual(shop.describe(order), "Hello Ann! Your order: 12.50")
