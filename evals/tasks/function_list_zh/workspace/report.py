"""Reports."""


def total(orders):
    def amount(order):
        return order["amount"]

    return sum(map(amount, orders))


def _row(order):
    return str(order)


def average(orders):
    return total(orders) / len(orders)
