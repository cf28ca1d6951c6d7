from collections import OrderedDict


class Cache:
    def __init__(self, size, seconds, clock):
        if size < 1:
            raise ValueError("a cache has room for at least one entry")
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._entries = OrderedDict()

    def put(self, key, value):
        self._forget()
        self._entries[key] = (value, self._clock())
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def get(self, key, default=None):
        self._forget()
        if key not in self._entries:
            return default
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def __len__(self):
        self._forget()
        return len(self._entries)

    def _forget(self):
        now = self._clock()
        for key in [key for key, (_, put) in self._entries.items() if now - put >= self._seconds]:
            del self._entries[key]
