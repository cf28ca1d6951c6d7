def remember(function):
    """Keep the results of a function: it is called once for the same arguments."""
    known = {}

    def wrapper(*args, **kwargs):
        key = str(args) + str(kwargs)
        if known.get(key) is not None:
            return known[key]
        known[key] = function(*args, **kwargs)
        return known[key]

    return wrapper
