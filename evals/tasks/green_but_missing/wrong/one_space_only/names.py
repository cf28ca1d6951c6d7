def tidy(name):
    """The name with single spaces and none around it."""
    return " ".join(name.split())


def initials(name):
    return ".".join(part[0].upper() for part in name.split(" ")) + "."
