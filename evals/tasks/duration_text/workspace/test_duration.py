import unittest

from duration import parse, show


class DurationTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("1h30m"), 5400)
        self.assertEqual(parse("45s"), 45)
        self.assertEqual(parse("2h5s"), 7205)
        self.assertEqual(parse("90m"), 5400)

    def test_parse_refuses(self):
        for text in ["", "h", "10", "5x", "30m1h", "1h1h", "-5s", "1h 30m"]:
            with self.subTest(text), self.assertRaises(ValueError):
                parse(text)

    def test_show(self):
        self.assertEqual(show(5400), "1h30m")
        self.assertEqual(show(7205), "2h5s")
        self.assertEqual(show(59), "59s")
        self.assertEqual(show(0), "0s")
