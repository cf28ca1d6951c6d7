import unittest

from paging import page, page_count


class PagingTest(unittest.TestCase):
    def test_page_count(self):
        self.assertEqual(page_count([1, 2, 3, 4], 2), 2)
        self.assertEqual(page_count([1, 2, 3, 4, 5], 2), 3)
        self.assertEqual(page_count([], 2), 0)

    def test_first_page(self):
        self.assertEqual(page("abcde", 1, 2), "ab")

    def test_last_page(self):
        self.assertEqual(page("abcde", 3, 2), "e")

    def test_no_such_page(self):
        with self.assertRaises(IndexError):
            page("abcde", 4, 2)
        with self.assertRaises(IndexError):
            page("abcde", 0, 2)
