import re

TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)|([-+*/()]))")


def evaluate(text):
    tokens = _tokens(text)
    value = _sum(tokens)
    if tokens:
        raise ValueError(f"unexpected {tokens[-1]!r}")
    return value


def _tokens(text):
    text = text.rstrip()
    tokens, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"unexpected {text[position:]!r}")
        tokens.append(match.group(1) or match.group(2))
        position = match.end()
    return tokens[::-1]


def _sum(tokens):
    value = _product(tokens)
    while tokens and tokens[-1] in "+-":
        value = value + _product(tokens) if tokens.pop() == "+" else value - _product(tokens)
    return value


def _product(tokens):
    value = _factor(tokens)
    while tokens and tokens[-1] in "*/":
        value = value * _factor(tokens) if tokens.pop() == "*" else value / _factor(tokens)
    return value


def _factor(tokens):
    if not tokens:
        raise ValueError("something is missing")
    token = tokens.pop()
    if token == "-":
        return -_factor(tokens)
    if token == "(":
        value = _sum(tokens)
        if not tokens or tokens.pop() != ")":
            raise ValueError("a parenthesis is not closed")
        return value
    if token[0].isdigit():
        return float(token) if "." in token else int(token)
    raise ValueError(f"unexpected {token!r}")
