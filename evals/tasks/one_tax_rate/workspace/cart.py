def cart_total(prices):
    """Cents with tax."""
    return round(sum(prices) * (1 + 0.19))
