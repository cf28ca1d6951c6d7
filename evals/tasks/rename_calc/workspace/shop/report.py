from shop import prices


def summary(lines, grams):
    goods = prices.calc(lines)
    return f"goods {goods}, shipping {prices.calc_shipping(grams)}"
