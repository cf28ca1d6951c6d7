import unittest

from invoice import gross, net
from tax import tax_on


class InvoiceTest(unittest.TestCase):
    def test_tax(self):
        self.assertEqual(tax_on(1000), 190)
        self.assertEqual(tax_on(50), 10)
        self.assertEqual(tax_on(150), 29)
        self.assertEqual(tax_on(13), 2)

    def test_net(self):
        self.assertEqual(net([(2, 500, 0)]), 1000)
        self.assertEqual(net([(1, 2000, 10), (3, 100, 0)]), 2100)
        self.assertIsInstance(net([(1, 2000, 10)]), int)

    def test_gross(self):
        self.assertEqual(gross([(1, 999, 0)]), 1189)
