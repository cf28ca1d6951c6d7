import os
import tempfile
import unittest

from models import Book
from show import show
from store import load, save


class BooksTest(unittest.TestCase):
    def test_default(self):
        self.assertEqual(Book("围城", "钱锺书").isbn, "")

    def test_save_and_load(self):
        books = [Book("围城", "钱锺书", 1947, "9787020024759"), Book("活着", "余华")]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "books.json")
            save(books, path)
            self.assertEqual(load(path), books)

    def test_old_file(self):
        self.assertEqual(load("old.json"), [Book("围城", "钱锺书", 1947)])

    def test_show(self):
        self.assertEqual(show(Book("活着", "余华", isbn="123")), "《活着》余华 ISBN 123")
