def final_price(amount, member):
    if member:
        amount = amount * 9 / 10
    if amount >= 200:
        amount -= 20
    return amount
