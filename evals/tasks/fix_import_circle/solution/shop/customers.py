class Customer:
    def __init__(self, name):
        self.name = name
        self.orders = []

    def buy(self, cents):
        from shop.orders import Order

        order = Order(self, cents)
        self.orders.append(order)
        return order


def greet(customer):
    return f"Hello {customer.name}!"
