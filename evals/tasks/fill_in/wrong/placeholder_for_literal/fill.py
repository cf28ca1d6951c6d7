import re

FILTERS = {"upper": str.upper, "lower": str.lower, "trim": str.strip}


def fill(text, values):
    text = text.replace("{{{{", "\0")

    def one(match):
        name, *filters = (part.strip() for part in match.group(1).split("|"))
        value = str(values[name])
        for each in filters:
            if each not in FILTERS:
                raise ValueError(each)
            value = FILTERS[each](value)
        return value

    if "{{" in text and "}}" not in text:
        raise ValueError("not closed")
    return re.sub(r"\{\{(.*?)\}\}", one, text).replace("\0", "{{")
