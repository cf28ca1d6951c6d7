import unittest

from cache import Cache


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.now = 0
        self.cache = Cache(2, 10, lambda: self.now)

    def test_put_and_get(self):
        self.cache.put("a", 1)
        self.assertEqual(self.cache.get("a"), 1)
        self.assertIsNone(self.cache.get("b"))
        self.assertEqual(self.cache.get("b", 5), 5)

    def test_time(self):
        self.cache.put("a", 1)
        self.now = 9
        self.assertEqual(self.cache.get("a"), 1)
        self.now = 10
        self.assertIsNone(self.cache.get("a"))
        self.assertEqual(len(self.cache), 0)

    def test_size(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertIsNone(self.cache.get("b"))
        self.assertEqual((self.cache.get("a"), self.cache.get("c")), (1, 3))

    def test_gone_entries_take_no_room(self):
        self.cache.put("a", 1)
        self.now = 5
        self.cache.put("b", 2)
        self.cache.get("a")
        self.now = 11
        self.cache.put("c", 3)
        self.assertEqual((self.cache.get("b"), self.cache.get("c")), (2, 3))

    def test_bad_size(self):
        with self.assertRaises(ValueError):
            Cache(0, 10, lambda: 0)
