def remember(function):
    """Keep the results of a function: it is called once for the same arguments."""
    known = {}

    def wrapper(*args, **kwargs):
        if known.get(args):
            return known[args]
        known[args] = function(*args, **kwargs)
        return known[args]

    return wrapper
