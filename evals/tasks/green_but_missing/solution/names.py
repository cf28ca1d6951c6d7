def tidy(name):
    """The name with single spaces and none around it."""
    return " ".join(name.split())


def initials(name):
    """The first letters of the name's parts: A.K.L. for Ada King Lovelace."""
    return "".join(f"{part[0].upper()}." for part in name.split())
