import unittest

from tags import tag_line


class TagsTest(unittest.TestCase):
    def test_repeats(self):
        tags = ["zeta", "Beta", "beta", "delta", "omega", "ZETA", "kappa", "gamma", "sigma", "alpha"]
        self.assertEqual(tag_line(tags), "#zeta #beta #delta #omega #kappa #gamma #sigma #alpha")

    def test_none(self):
        self.assertEqual(tag_line([]), "")
