import re


def evaluate(text):
    if not re.fullmatch(r"[-+*/(). 0-9]+", text) or "**" in text or "()" in text:
        raise ValueError(text)
    try:
        return eval(text)
    except SyntaxError as error:
        raise ValueError(text) from error
