def shorten(text, width):
    """The text, cut to at most width characters with a … at the end where something was cut."""
    if width < 1:
        raise ValueError("the width is at least 1")
    if len(text) <= width:
        return text
    return text[: width - 1].rstrip() + "…"
