class Refused(Exception):
    """The transfer was not made."""


class Bank:
    def __init__(self):
        self.accounts = {}

    def open(self, name, cents=0):
        self.accounts[name] = cents

    def transfer(self, source, target, cents):
        self.accounts[source] -= cents
        if self.accounts[source] < 0:
            raise Refused("not enough money")
        if target not in self.accounts:
            raise Refused("no such account")
        self.accounts[target] += cents
