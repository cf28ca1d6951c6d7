import unittest

from wordstats import word_stats


class WordStats(unittest.TestCase):
    def test_counts_words(self):
        self.assertEqual(word_stats("one two  three\nfour")["words"], 4)

    def test_unique_ignores_case_and_punctuation(self):
        self.assertEqual(word_stats("The cat, the dog. THE END!")["unique"], 4)

    def test_longest_is_without_punctuation(self):
        self.assertEqual(word_stats("a river, (mountain) sea")["longest"], "mountain")

    def test_first_of_the_longest(self):
        self.assertEqual(word_stats("blue pink grey")["longest"], "blue")

    def test_average_is_rounded(self):
        self.assertEqual(word_stats("a bb, cc!")["average"], 1.67)

    def test_empty_text(self):
        self.assertEqual(word_stats(""), {"words": 0, "unique": 0, "longest": "", "average": 0.0})


if __name__ == "__main__":
    unittest.main()
