class Refused(Exception):
    """The transfer was not made."""


class Bank:
    def __init__(self):
        self.accounts = {}

    def open(self, name, cents=0):
        self.accounts[name] = cents

    def transfer(self, source, target, cents):
        if target not in self.accounts or source not in self.accounts or cents < 0:
            raise Refused("no")
        left, more = self.accounts[source] - cents, self.accounts[target] + cents
        if left < 0:
            raise Refused("not enough money")
        self.accounts[source] = left
        self.accounts[target] = more
