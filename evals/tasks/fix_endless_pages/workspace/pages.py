"""Collect what a service gives page by page."""


def collect(fetch):
    """All items. fetch(page) returns the items of a page, pages count from 1, and [] after the last one."""
    items = []
    page = 1
    while True:
        found = fetch(page)
        if found is None:
            break
        items.extend(found)
        page += 1
    return items


def collect_until(fetch, limit):
    """The first `limit` items. No page is fetched that is not needed."""
    items = []
    page = 1
    while len(items) < limit:
        items.extend(fetch(page))
    return items[:limit]
