def build_order(needs):
    left = {target: set(needed) for target, needed in needs.items()}
    for needed in needs.values():
        for target in needed:
            left.setdefault(target, set())
    order = []
    while left:
        ready = sorted(target for target, needed in left.items() if not needed & left.keys())
        if not ready:
            raise ValueError("cycle")
        order += ready
        for target in ready:
            del left[target]
    return order
