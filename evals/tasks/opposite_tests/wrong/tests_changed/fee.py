def fee(amount):
    return amount // 20
