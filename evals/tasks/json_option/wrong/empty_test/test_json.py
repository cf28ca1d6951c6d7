import unittest


class JsonTest(unittest.TestCase):
    def test_json(self):
        self.assertTrue(True)
