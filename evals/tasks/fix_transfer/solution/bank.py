class Refused(Exception):
    """The transfer was not made."""


class Bank:
    def __init__(self):
        self.accounts = {}

    def open(self, name, cents=0):
        self.accounts[name] = cents

    def transfer(self, source, target, cents):
        if source not in self.accounts or target not in self.accounts:
            raise Refused("no such account")
        if cents < 0:
            raise Refused("a transfer cannot be negative")
        if self.accounts[source] < cents:
            raise Refused("not enough money")
        self.accounts[source] -= cents
        self.accounts[target] += cents
