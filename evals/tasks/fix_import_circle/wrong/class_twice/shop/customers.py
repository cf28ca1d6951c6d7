class Order:
    def __init__(self, customer, cents):
        self.customer = customer
        self.cents = cents


class Customer:
    def __init__(self, name):
        self.name = name
        self.orders = []

    def buy(self, cents):
        order = Order(self, cents)
        self.orders.append(order)
        return order


def greet(customer):
    return f"Hello {customer.name}!"
