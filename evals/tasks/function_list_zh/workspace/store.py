"""Keeps orders."""


def load(path):
    return open(path).read()


def save(path, text):
    _write(path, text)


def _write(path, text):
    open(path, "w").write(text)
