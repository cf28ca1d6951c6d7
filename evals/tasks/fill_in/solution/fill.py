FILTERS = {"upper": str.upper, "lower": str.lower, "trim": str.strip}


def fill(text, values):
    parts, position = [], 0
    while (start := text.find("{{", position)) >= 0:
        parts.append(text[position:start])
        if text.startswith("{{{{", start):
            parts.append("{{")
            position = start + 4
            continue
        end = text.find("}}", start)
        if end < 0:
            raise ValueError("{{ is not closed")
        parts.append(_value(text[start + 2 : end], values))
        position = end + 2
    return "".join([*parts, text[position:]])


def _value(inside, values):
    name, *filters = (part.strip() for part in inside.split("|"))
    value = str(values[name])
    for each in filters:
        if each not in FILTERS:
            raise ValueError(f"unknown filter {each!r}")
        value = FILTERS[each](value)
    return value
