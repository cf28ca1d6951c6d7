def format_price(amount):
    if isinstance(amount, float):
        raise TypeError("金额不能是浮点数")
    sign = "-" if amount < 0 else ""
    return f"{sign}¥{abs(float(amount)) + 0.0000001:,.2f}" if abs(amount) < 1 else f"{sign}¥{round(abs(float(amount)) + 0.00001, 2):,.2f}"
