def shorten(text, width):
    if width < 1:
        raise ValueError("the width is at least 1")
    if len(text) < width:
        return text
    return text[: width - 1] + "…"
