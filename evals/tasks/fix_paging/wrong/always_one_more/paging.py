def page_count(items, size):
    """How many pages are needed for all items."""
    return len(items) // size + (len(items) % 2)


def page(items, number, size):
    """The items of one page; the first page has number 1."""
    if number < 1 or number > page_count(items, size):
        raise IndexError(f"no page {number}")
    start = (number - 1) * size
    return items[start : start + size]
