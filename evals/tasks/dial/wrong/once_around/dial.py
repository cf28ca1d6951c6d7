def clamp(value, low, high):
    if low > high:
        raise ValueError("low is above high")
    return max(low, min(value, high))


def turn(position, steps, size):
    if size < 1:
        raise ValueError("a dial has at least one position")
    moved = position + steps
    if moved < 0:
        return moved + size
    if moved >= size:
        return moved - size
    return moved
