import json

from models import Book


def save(books, path):
    with open(path, "w", encoding="utf-8") as target:
        json.dump([vars(book) for book in books], target, ensure_ascii=False)


def load(path):
    with open(path, encoding="utf-8") as source:
        return [Book(**row) for row in json.load(source)]
