from dataclasses import dataclass


@dataclass
class Book:
    title: str
    author: str
    year: int = 0
    isbn: str = ""
