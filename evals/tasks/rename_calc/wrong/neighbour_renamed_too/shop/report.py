from shop import prices


def summary(lines, grams):
    goods = prices.order_total(lines)
    return f"goods {goods}, shipping {prices.order_total_shipping(grams)}"
