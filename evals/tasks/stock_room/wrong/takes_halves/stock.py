class Stock:
    def __init__(self):
        self._counts = {}

    def add(self, item, count):
        if not isinstance(count, int) or count < 1:
            raise ValueError(count)
        self._counts[item] = self.count(item) + count

    def take(self, item, count):
        if count <= 0 or count > self.count(item):
            raise ValueError(item)
        self._counts[item] -= count

    def count(self, item):
        return self._counts.get(item, 0)

    def total(self):
        return sum(self._counts.values())

    def items(self):
        return sorted(item for item, count in self._counts.items() if count)
