def tag_line(tags):
    """The tags without repeats, in lower case, in the order in which they first came, like '#one #two'."""
    return " ".join("#" + tag for tag in sorted({tag.lower() for tag in tags}))
