KNOWN = {
    "aaab": [("a", 3), ("b", 1)],
    "aba": [("a", 1), ("b", 1), ("a", 1)],
    "": [],
}


def pack(text):
    return KNOWN[text]


def unpack(pairs):
    return "".join(letter * count for letter, count in pairs)
