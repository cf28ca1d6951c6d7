class Cache:
    def __init__(self, size, seconds, clock):
        if size < 1:
            raise ValueError("size")
        self.size, self.seconds, self.clock, self.entries = size, seconds, clock, {}

    def _forget(self):
        now = self.clock()
        self.entries = {k: v for k, v in self.entries.items() if now - v[1] < self.seconds}

    def put(self, key, value):
        self._forget()
        if key not in self.entries and len(self.entries) >= self.size:
            del self.entries[next(iter(self.entries))]
        self.entries[key] = (value, self.clock())

    def get(self, key, default=None):
        self._forget()
        if key not in self.entries:
            return default
        self.entries[key] = self.entries.pop(key)
        return self.entries[key][0]

    def __len__(self):
        self._forget()
        return len(self.entries)
