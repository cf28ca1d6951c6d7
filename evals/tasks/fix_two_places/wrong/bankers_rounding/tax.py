"""Tax in cents, rounded half up."""

RATE_PER_MILLE = 190


def tax_on(cents):
    return round(cents * RATE_PER_MILLE / 1000)
