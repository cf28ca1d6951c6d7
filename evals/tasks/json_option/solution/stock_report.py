"""Reports what is in stock."""

import argparse
import json


def read(path):
    counts = {}
    with open(path) as source:
        for line in source:
            if line.strip():
                name, count = line.rsplit(maxsplit=1)
                counts[name] = counts.get(name, 0) + int(count)
    return counts


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--json", action="store_true", help="print a JSON object from item name to count")
    options = parser.parse_args(arguments)
    counts = read(options.file)
    if options.json:
        print(json.dumps(counts))
        return
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
