"""Chunks of a manifest: after a change they are the same as if they were made anew, and few are stored."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.trees import trees
from surefoot.workspace.snapshots.chunks import chunked, updated

_NAMES = [f"f{number}" for number in range(3000)]
_BORDERS = [name for name in _NAMES if zlib.crc32(name.encode()) & 0xFF == 0]
_paths = st.sampled_from([*_BORDERS, *_NAMES[: len(_BORDERS) * 2]])


@pytest.mark.req("X2")
@trees(300)
@given(st.sets(_paths), st.sets(_paths), st.sets(_paths))
def test_updated_chunks_equal_new_ones(before: set[str], added: set[str], removed: set[str]) -> None:
    before, after = before | {""}, (before | added) - removed | {""}
    old = chunked(sorted(before), lambda paths: f"old {paths}")
    new = updated(old, added | removed, after.__contains__, lambda paths: f"new {paths}")
    assert new.paths == chunked(sorted(after), str).paths
    assert [digest.partition(" ")[2] for digest in new.digests] == [str(paths) for paths in new.paths]
    untouched = [paths for paths in old.paths if paths in new.paths and not (added | removed) & set(paths)]
    stored = [digest for digest in new.digests if digest.startswith("new")]
    assert len(stored) <= 2 * len(added | removed)
    assert len(untouched) <= len(new.paths)


def test_one_change_in_many_paths_stores_one_chunk() -> None:
    old = chunked(sorted(_NAMES), lambda paths: "old")
    new = updated(old, {"f1500"}, lambda path: True, lambda paths: "new")
    assert len(old.paths) > 5
    assert new.digests.count("new") == 1
