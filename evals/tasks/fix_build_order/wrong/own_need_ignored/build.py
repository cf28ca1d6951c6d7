def build_order(needs):
    """The order in which to build: needs maps a target to what it needs. What is only needed is a target too."""
    left = {target: set(needed) - {target} for target, needed in needs.items()}
    for needed in needs.values():
        for target in needed:
            left.setdefault(target, set())
    order = []
    while left:
        ready = [target for target, needed in left.items() if not needed & left.keys()]
        if not ready:
            raise ValueError(f"these need each other: {', '.join(sorted(left))}")
        order.append(min(ready))
        del left[order[-1]]
    return order
