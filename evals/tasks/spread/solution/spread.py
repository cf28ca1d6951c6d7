def value_range(numbers):
    if not numbers:
        raise ValueError("no numbers")
    return max(numbers) - min(numbers)


def midrange(numbers):
    if not numbers:
        raise ValueError("no numbers")
    return (max(numbers) + min(numbers)) / 2
