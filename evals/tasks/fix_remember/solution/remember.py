def remember(function):
    """Keep the results of a function: it is called once for the same arguments."""
    known = {}

    def wrapper(*args, **kwargs):
        key = (args, frozenset(kwargs.items()))
        if key not in known:
            known[key] = function(*args, **kwargs)
        return known[key]

    return wrapper
