"""Recognises error messages about something that is missing."""

import re

MISSING_MODULE = re.compile(r"No module named ['\"]?([\w.]+)")
MISSING_FILE = re.compile(
    r"No such file or directory: ['\"]?(?P<python>[^'\"\n]+)|(?P<shell>[^\s:'\"]+)['\"]?: No such file or directory"
)


def says_missing(text: str) -> bool:
    """Whether a failing output says that a module or a file does not exist."""
    return bool(MISSING_MODULE.search(text) or MISSING_FILE.search(text))
