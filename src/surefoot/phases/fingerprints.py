"""What makes two acts the same: nothing that failed is done again unchanged."""

import hashlib
import json
from typing import Any


def fingerprint(tool: str, arguments: dict[str, Any], body: str) -> str:
    """The same act with the same content has the same fingerprint, however it is written down."""
    # The JSON of a list of the three. Most have no arguments or no body, and for text alone the encoder is quick.
    canonical = f"[{_CANONICAL(tool)}, {_CANONICAL(arguments) if arguments else '{}'}, {_CANONICAL(body.strip())}]"
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode
