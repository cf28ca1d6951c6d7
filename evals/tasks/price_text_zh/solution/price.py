from decimal import ROUND_HALF_UP, Decimal


def format_price(amount):
    if isinstance(amount, float):
        raise TypeError("金额不能是浮点数")
    cents = Decimal(amount).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    sign = "-" if cents < 0 else ""
    return f"{sign}¥{abs(cents):,.2f}"
