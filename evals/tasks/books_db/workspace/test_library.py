import os
import sqlite3
import unittest


class LibraryTest(unittest.TestCase):
    def test_books(self):
        self.assertTrue(os.path.exists("library.db"), "there is no library.db")
        rows = sqlite3.connect("library.db").execute("SELECT * FROM books ORDER BY id").fetchall()
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[1], (3, "The Long Quay", 1987, 7.5))
        self.assertEqual(rows[3], (8, "Night Ferry", None, 4.0))
