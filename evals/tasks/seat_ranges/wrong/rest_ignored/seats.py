import re

PART = re.compile(r"([A-Z])([0-9]+)(?:-([A-Z])([0-9]+))?")


def expand(text):
    if not text:
        return []
    seats = []
    for part in text.split(","):
        match = PART.match(part.strip())
        if not match or part.endswith("-") or part.count("-") > 1 or " " in part.strip():
            raise ValueError(part)
        row, first, end_row, last = match.groups()
        end_row, last = end_row or row, last or first
        if end_row != row or int(last) < int(first):
            raise ValueError(part)
        seats += [f"{row}{number}" for number in range(int(first), int(last) + 1)]
    return list(dict.fromkeys(seats))
