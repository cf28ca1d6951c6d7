import unittest

from names import tidy


class NamesTest(unittest.TestCase):
    def test_tidy(self):
        self.assertEqual(tidy("  Ada   King "), "Ada King")
