def refund(gross):
    """The part of a refund that is tax, in cents."""
    return round(gross - gross / (1 + 19 / 100))
