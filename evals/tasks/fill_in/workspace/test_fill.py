import unittest

from fill import fill


class FillTest(unittest.TestCase):
    def test_names(self):
        self.assertEqual(fill("Hi {{ name }}, {{age}}!", {"name": "Ann", "age": 7}), "Hi Ann, 7!")

    def test_filters(self):
        self.assertEqual(fill("{{ a|upper }}", {"a": "x"}), "X")
        self.assertEqual(fill("[{{ a | trim | lower }}]", {"a": " YES "}), "[yes]")

    def test_literal(self):
        self.assertEqual(fill("{{{{ and }}", {}), "{{ and }}")

    def test_single_braces(self):
        self.assertEqual(fill("{a} }", {}), "{a} }")

    def test_not_looked_at_again(self):
        self.assertEqual(fill("{{ a }}", {"a": "{{ b }}"}), "{{ b }}")

    def test_refused(self):
        with self.assertRaises(KeyError):
            fill("{{ b }}", {"a": 1})
        with self.assertRaises(ValueError):
            fill("{{ a|shout }}", {"a": 1})
        with self.assertRaises(ValueError):
            fill("{{ a", {"a": 1})
