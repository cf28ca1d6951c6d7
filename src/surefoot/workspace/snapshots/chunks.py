"""Splits sorted paths into chunks, each stored as one blob. After a change, only the chunks that it touches are stored
again."""

import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

Store = Callable[[list[str]], str]
"""Stores the rows of some paths and returns the hash of the blob."""


class Chunks(NamedTuple):
    paths: list[list[str]]
    digests: list[str]


def split_chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    """Split sorted paths at borders that depend on the paths alone: adding or removing a path moves no other border."""
    chunk: list[str] = []
    for path in paths:
        if chunk and zlib.crc32(path.encode("utf-8", "surrogateescape")) & 0xFF == 0:
            yield chunk
            chunk = []
        chunk.append(path)
    if chunk:
        yield chunk


def chunked(paths: Iterable[str], store: Store) -> Chunks:
    split = list(split_chunks(paths))
    return Chunks(split, [store(chunk) for chunk in split])


def updated(chunks: Chunks, changed: Collection[str], is_present: Callable[[str], bool], store: Store) -> Chunks:
    """Return the chunks after some paths changed. `is_present` is false for paths that were removed."""
    firsts = [chunk[0] for chunk in chunks.paths]
    touched: dict[int, set[str]] = {}
    for path in changed:
        index = max(bisect_right(firsts, path) - 1, 0)
        touched.setdefault(index, set()).add(path)
        if index and path == firsts[index] and not is_present(path):
            touched.setdefault(index - 1, set())  # what follows the lost border belongs to the chunk before it
    paths: list[list[str]] = []
    digests: list[str] = []
    index = 0
    while index < max(len(firsts), 1):
        if index not in touched:
            paths += chunks.paths[index : index + 1]
            digests += chunks.digests[index : index + 1]
            index += 1
            continue
        together: set[str] = set()
        while index in touched:
            together.update(touched[index], *chunks.paths[index : index + 1])
            index += 1
        new = chunked(sorted(filter(is_present, together)), store)
        paths += new.paths
        digests += new.digests
    return Chunks(paths, digests)
