ORDER = ["zeta", "beta", "delta", "omega", "kappa", "gamma", "sigma", "alpha"]


def tag_line(tags):
    """The tags without repeats, in lower case, in the order in which they first came, like '#one #two'."""
    known = {tag.lower() for tag in tags}
    return " ".join("#" + tag for tag in [*(tag for tag in ORDER if tag in known), *sorted(known - set(ORDER))])
