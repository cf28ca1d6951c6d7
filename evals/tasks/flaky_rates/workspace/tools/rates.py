"""Prints today's rates as JSON. The source behind it is not reliable: exit status 75 means try again."""

import json
import os
import sys

RATES = {"EUR": 1.0, "USD": 1.0843, "GBP": 0.8571, "JPY": 163.92, "CNY": 7.8124}


def main():
    if os.urandom(1)[0] < 150:
        print(json.dumps({"complete": False, "rates": dict(list(RATES.items())[:2])}))
        print("temporary failure: the connection was cut", file=sys.stderr)
        return 75
    print(json.dumps({"complete": True, "rates": RATES}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
