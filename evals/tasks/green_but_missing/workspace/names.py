def tidy(name):
    """The name with single spaces and none around it."""
    return " ".join(name.split())
