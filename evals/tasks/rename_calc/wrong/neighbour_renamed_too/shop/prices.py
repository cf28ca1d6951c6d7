def order_total(lines):
    """The total of an order in cents."""
    return sum(quantity * cents for quantity, cents in lines)


def order_total_shipping(grams):
    return 490 if grams <= 1000 else 990
