class Basket:
    """What a customer picked, with prices in cents."""

    def __init__(self, lines=[]):
        self.lines = lines

    def put(self, name, cents):
        self.lines.append((name, cents))

    def total(self):
        return sum(cents for _, cents in self.lines)
