import sys

from shop.prices import order_total


def main(words):
    """Prints the total of lines like 2x500."""
    lines = [tuple(int(part) for part in word.split("x")) for word in words]
    print(order_total(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
