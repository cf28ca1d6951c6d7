import unittest

from tags import tag_line


class TagsTest(unittest.TestCase):
    def test_repeats(self):
        tags = ["alpha", "Beta", "beta", "delta", "gamma", "ALPHA", "kappa", "omega", "sigma", "zeta"]
        self.assertEqual(tag_line(tags), "#alpha #beta #delta #gamma #kappa #omega #sigma #zeta")

    def test_none(self):
        self.assertEqual(tag_line([]), "")


if __name__ == "__main__":
    unittest.main()
