"""The interface of object stores: large content by its hash, for machines that share no disk."""

from collections.abc import Iterator
from typing import Protocol


class ObjectStore(Protocol):
    """Content is named by its SHA-256, so it never changes, and writing it twice does no harm."""

    def put(self, digest: str, data: bytes) -> None:
        """Store content. It is durable when this returns; concurrent readers see all of it or nothing."""
        ...

    def get(self, digest: str) -> bytes | None:
        """Return the content, or None if there is none. The caller verifies the hash."""
        ...

    def has(self, digest: str) -> bool: ...

    def delete(self, digest: str) -> None:
        """Delete content permanently. Does nothing if there is none."""
        ...

    def list(self) -> Iterator[str]:
        """Iterate over the hashes of all content, in no particular order."""
        ...


DIGEST_CHARS = 64


def is_digest(name: str) -> bool:
    return len(name) == DIGEST_CHARS and all(letter in "0123456789abcdef" for letter in name)


def require_digest(name: str) -> str:
    """Return the name, or raise ValueError if it is not a hash: it becomes part of paths and addresses."""
    if not is_digest(name):
        raise ValueError(f"not a SHA-256 in hexadecimal: {name[:80]!r}")
    return name
