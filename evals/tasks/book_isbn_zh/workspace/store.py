import json

from models import Book


def save(books, path):
    rows = [{"title": book.title, "author": book.author, "year": book.year} for book in books]
    with open(path, "w", encoding="utf-8") as target:
        json.dump(rows, target, ensure_ascii=False)


def load(path):
    with open(path, encoding="utf-8") as source:
        rows = json.load(source)
    return [Book(row["title"], row["author"], row["year"]) for row in rows]
