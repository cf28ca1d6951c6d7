def build_order(needs):
    """The order in which to build: needs maps a target to what it needs. What is only needed is a target too."""
    order = []
    for target in needs:
        for needed in needs[target]:
            order += build_order({needed: needs.get(needed, [])})
        order.append(target)
    return order
