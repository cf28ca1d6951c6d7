from settings import TAX_RATE


def quote(price, quantity):
    """Net, tax and gross in cents."""
    net = price * quantity
    tax = round(net * TAX_RATE)
    return {"net": net, "tax": tax, "gross": net + tax}
