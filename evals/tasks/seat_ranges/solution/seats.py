import re

PART = re.compile(r"([A-Z])([0-9]+)(?:-([A-Z])([0-9]+))?")


def expand(text):
    if not text.strip():
        return []
    seats = []
    for part in text.split(","):
        match = PART.fullmatch(part.strip())
        if not match:
            raise ValueError(f"not a seat or a range: {part!r}")
        row, first, end_row, last = match.groups()
        if end_row is None:
            end_row, last = row, first
        if end_row != row or int(last) < int(first):
            raise ValueError(f"not a range: {part!r}")
        seats += [f"{row}{number}" for number in range(int(first), int(last) + 1)]
    return list(dict.fromkeys(seats))
