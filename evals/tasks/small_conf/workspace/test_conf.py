import unittest

from conf import parse


class ConfTest(unittest.TestCase):
    def test_sections(self):
        text = "top = 1\n\n[web]\nhost = example.org\nport=8080\n# a note\n[db]\nurl = a=b\n"
        self.assertEqual(
            parse(text), {"": {"top": 1}, "web": {"host": "example.org", "port": 8080}, "db": {"url": "a=b"}}
        )

    def test_values(self):
        text = '[v]\na = true\nb = false\nc = -5\nd = "7"\ne = two words # x\nf =\n'
        self.assertEqual(parse(text), {"v": {"a": True, "b": False, "c": -5, "d": "7", "e": "two words # x", "f": ""}})

    def test_twice(self):
        self.assertEqual(parse("[a]\nx = 1\n[b]\n[a]\ny = 2"), {"a": {"x": 1, "y": 2}, "b": {}})
        with self.assertRaises(ValueError):
            parse("[a]\nx = 1\nx = 2")

    def test_nonsense(self):
        with self.assertRaisesRegex(ValueError, "3"):
            parse("[a]\nx = 1\nwhat is this\n")

    def test_empty(self):
        self.assertEqual(parse(""), {})
