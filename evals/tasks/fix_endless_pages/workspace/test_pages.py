import unittest

from pages import collect, collect_until


class Service:
    def __init__(self, *pages):
        self.pages = pages
        self.last = 0

    def fetch(self, page):
        self.last = page
        return list(self.pages[page - 1]) if page <= len(self.pages) else []


class PagesTest(unittest.TestCase):
    def test_collect(self):
        self.assertEqual(collect(Service("ab", "c").fetch), ["a", "b", "c"])

    def test_collect_until(self):
        service = Service("ab", "cd", "ef")
        self.assertEqual(collect_until(service.fetch, 3), ["a", "b", "c"])
        self.assertEqual(service.last, 2)

    def test_fewer_than_the_limit(self):
        self.assertEqual(collect_until(Service("ab").fetch, 5), ["a", "b"])
