"""Sends mail."""

SENDER = "shop@example.org"


def send(to, text):
    return f"{SENDER} -> {to}: {text}"
