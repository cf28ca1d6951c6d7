"""Writes codes.py from codes.csv."""

import csv

HEAD = '"""Made by make_codes.py from codes.csv. Do not edit."""\n\nCODES = {\n'


def main():
    with open("codes.csv", newline="") as source:
        rows = sorted((int(row["code"]), row["text"]) for row in csv.DictReader(source))
    with open("codes.py", "w") as target:
        target.write(HEAD + "".join(f"    {code}: {text!r},\n" for code, text in rows) + "}\n")


if __name__ == "__main__":
    main()
