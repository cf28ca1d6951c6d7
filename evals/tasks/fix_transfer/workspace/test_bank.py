import unittest

from bank import Bank, Refused


class BankTest(unittest.TestCase):
    def setUp(self):
        self.bank = Bank()
        self.bank.open("ann", 100)
        self.bank.open("bob")

    def test_transfer(self):
        self.bank.transfer("ann", "bob", 30)
        self.assertEqual(self.bank.accounts, {"ann": 70, "bob": 30})

    def test_all_of_it(self):
        self.bank.transfer("ann", "bob", 100)
        self.assertEqual(self.bank.accounts, {"ann": 0, "bob": 100})

    def refused(self, *transfer):
        with self.assertRaises(Refused):
            self.bank.transfer(*transfer)
        self.assertEqual(self.bank.accounts, {"ann": 100, "bob": 0})

    def test_too_much(self):
        self.refused("ann", "bob", 101)

    def test_unknown_target(self):
        self.refused("ann", "eve", 10)

    def test_unknown_source(self):
        self.refused("eve", "ann", 10)

    def test_negative(self):
        self.refused("bob", "ann", -50)
