import unittest

from runs import pack, unpack


class RunsTest(unittest.TestCase):
    def test_pack(self):
        self.assertEqual(pack("aaab"), [("a", 3), ("b", 1)])
        self.assertEqual(pack("aba"), [("a", 1), ("b", 1), ("a", 1)])

    def test_pack_nothing(self):
        self.assertEqual(pack(""), [])

    def test_unpack(self):
        self.assertEqual(unpack([("x", 2), ("y", 1)]), "xxy")
        self.assertEqual(unpack([]), "")
