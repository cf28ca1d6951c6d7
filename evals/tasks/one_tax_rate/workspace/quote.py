RATE = 0.19


def quote(price, quantity):
    """Net, tax and gross in cents."""
    net = price * quantity
    tax = round(net * RATE)
    return {"net": net, "tax": tax, "gross": net + tax}
