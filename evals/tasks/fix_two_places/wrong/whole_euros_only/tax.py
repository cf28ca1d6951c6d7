"""Tax in cents, rounded half up."""

RATE_PER_MILLE = 190


def tax_on(cents):
    return (cents * RATE_PER_MILLE + 500) // 1000
