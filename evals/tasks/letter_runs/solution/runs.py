from itertools import groupby


def pack(text):
    return [(letter, len(list(group))) for letter, group in groupby(text)]


def unpack(pairs):
    return "".join(letter * count for letter, count in pairs)
