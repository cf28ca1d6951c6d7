import re


def parse(text):
    sections, current = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            current = line[1:-1].strip()
            sections.setdefault(current, {})
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not key:
            raise ValueError(f"line {number} is neither a section nor a key: {line}")
        keys = sections.setdefault(current, {})
        if key in keys:
            raise ValueError(f"line {number}: {key} comes twice")
        keys[key] = _value(value)
    return sections


def _value(text):
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text
