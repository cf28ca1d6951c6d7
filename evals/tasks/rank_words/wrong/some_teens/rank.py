def rank(number):
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"not a rank: {number!r}")
    if number in (11, 12, 13, 112):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th'))}"


def podium(names):
    return [f"{rank(place)} {name}" for place, name in enumerate(names[:3], 1)]
