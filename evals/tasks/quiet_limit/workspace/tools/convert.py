"""Converts a CSV file to JSON: convert.py SOURCE TARGET"""

import argparse
import csv
import json


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--preview-rows", type=int, default=5, help="how many rows to convert; 0 means all of them")
    options = parser.parse_args()
    with open(options.source, newline="") as source:
        rows = list(csv.DictReader(source))
    if options.preview_rows:
        rows = rows[: options.preview_rows]
    with open(options.target, "w") as target:
        json.dump(rows, target, indent=1)
    print("done")


if __name__ == "__main__":
    main()
