"""Invoices: amounts are whole cents everywhere."""

from tax import tax_on


def net(lines):
    """The sum of quantity times price, less the line's discount in percent."""
    total = 0
    for quantity, cents, discount in lines:
        amount = quantity * cents
        total += amount - amount // 100 * discount
    return total


def gross(lines):
    amount = net(lines)
    return amount + tax_on(amount)
