import unittest

from rank import podium, rank


class RankTest(unittest.TestCase):
    def test_rank(self):
        words = [rank(n) for n in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 112)]
        self.assertEqual(
            words, ["1st", "2nd", "3rd", "4th", "10th", "11th", "12th", "13th", "21st", "22nd", "112th"]
        )

    def test_refused(self):
        for wrong in (0, -1, 1.5, "3"):
            with self.assertRaises(ValueError):
                rank(wrong)

    def test_podium(self):
        self.assertEqual(podium(["Ada", "Bo"]), ["1st Ada", "2nd Bo"])
        self.assertEqual(len(podium(list("abcdef"))), 3)
