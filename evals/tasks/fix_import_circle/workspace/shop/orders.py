from shop.customers import greet


class Order:
    def __init__(self, customer, cents):
        self.customer = customer
        self.cents = cents


def describe(order):
    return f"{greet(order.customer)} Your order: {order.cents / 100:.2f}"
