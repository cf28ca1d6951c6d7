from settings import TAX_RATE


def cart_total(prices):
    """Cents with tax."""
    return round(sum(prices) * (1 + TAX_RATE))
