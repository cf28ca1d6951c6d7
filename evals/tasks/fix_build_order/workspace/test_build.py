import unittest

from build import build_order


class BuildOrderTest(unittest.TestCase):
    def test_chain(self):
        self.assertEqual(build_order({"app": ["lib"], "lib": ["core"], "core": []}), ["core", "lib", "app"])

    def test_diamond(self):
        needs = {"top": ["right", "left"], "left": ["base"], "right": ["base"]}
        self.assertEqual(build_order(needs), ["base", "left", "right", "top"])

    def test_ready_ones_by_name(self):
        self.assertEqual(build_order({"c": [], "a": ["d"], "b": []}), ["b", "c", "d", "a"])
        self.assertEqual(build_order({"z": [], "b": [], "c": ["b"]}), ["b", "c", "z"])

    def test_cycle(self):
        with self.assertRaises(ValueError):
            build_order({"a": ["b"], "b": ["a"]})

    def test_nothing(self):
        self.assertEqual(build_order({}), [])
