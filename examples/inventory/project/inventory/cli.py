"""The command line: `python3 -m inventory COMMAND`."""

import argparse
import sys
from pathlib import Path

from inventory.money import format_price
from inventory.store import NotEnough, Stock, UnknownItem


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    stock = Stock.load(options.stock)
    try:
        return options.run(stock, options)
    except (UnknownItem, NotEnough) as error:
        print(f"inventory: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="inventory")
    parser.add_argument("--stock", type=Path, default=Path("stock.csv"), metavar="FILE")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("list", help="every item, with quantity and price").set_defaults(run=show_list)
    commands.add_parser("value", help="what the stock is worth").set_defaults(run=show_value)
    for name, run, text in (("receive", receive, "goods came in"), ("ship", ship, "goods went out")):
        command = commands.add_parser(name, help=text)
        command.add_argument("sku")
        command.add_argument("count", type=int)
        command.set_defaults(run=run)
    return parser


def show_list(stock: Stock, options: argparse.Namespace) -> int:
    for item in stock.items.values():
        print(f"{item.sku:<8} {item.name:<20} {item.quantity:>5} {format_price(item.cents):>9}")
    return 0


def show_value(stock: Stock, options: argparse.Namespace) -> int:
    print(format_price(stock.value))
    return 0


def receive(stock: Stock, options: argparse.Namespace) -> int:
    item = stock.receive(options.sku, options.count)
    stock.save(options.stock)
    print(f"{item.sku}: {item.quantity}")
    return 0


def ship(stock: Stock, options: argparse.Namespace) -> int:
    item = stock.ship(options.sku, options.count)
    stock.save(options.stock)
    print(f"{item.sku}: {item.quantity}")
    return 0
