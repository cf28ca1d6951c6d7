"""The blob store."""

from pathlib import Path

import pytest

from surefoot.errors import WorkspaceError
from surefoot.workspace.snapshots.blobs import BlobStore


@pytest.fixture
def blobs(folder: Path) -> BlobStore:
    return BlobStore(folder / "blobs")


def test_put_and_get(blobs: BlobStore) -> None:
    digest = blobs.put(b"content")
    assert blobs.put(b"content") == digest
    assert blobs.get(digest) == b"content"
    assert blobs.has(digest)
    assert not blobs.has("0" * 64)
    with blobs.open(digest) as file:
        assert file.read(3) == b"con"


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_stored_file_is_independent_of_the_original(folder: Path, blobs: BlobStore, size: int) -> None:
    file = folder / "file"
    file.write_bytes(b"x" * size)
    with file.open("rb") as source:
        digest, stored = blobs.put_open(source.fileno())
    assert stored == size
    assert file.stat().st_nlink == 1
    with file.open("r+b") as open_file:
        open_file.write(b"changed in place")
    assert blobs.get(digest) == b"x" * size


def test_truncated_blob_is_written_again(folder: Path, blobs: BlobStore) -> None:
    digest = blobs.put(b"whole content")
    stored = folder / "blobs" / digest[:2] / digest[2:]
    stored.chmod(0o600)
    stored.write_bytes(b"whole")
    with pytest.raises(WorkspaceError, match="damaged"):
        blobs.get(digest)
    blobs.put(b"whole content")
    assert blobs.get(digest) == b"whole content"


@pytest.mark.parametrize("wrong", ["", "xyz", "../" * 20, "0" * 64])
def test_unknown_digest_is_an_error(blobs: BlobStore, wrong: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        blobs.get(wrong)
    assert caught.value.remedy
