"""Small functions on text (kit.texts)."""


def pad(text, width):
    """The text with spaces after it, up to the width."""
    return text + " " * max(0, width - len(text))


def widest(texts):
    return max((len(text) for text in texts), default=0)
