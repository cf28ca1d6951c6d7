"""Object stores: one contract for a folder and for a bucket on a real S3-compatible server."""

import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.s3 import KEYS, S3Server
from surefoot.errors import ConfigError, JournalError
from surefoot.journal.objects.base import ObjectStore
from surefoot.journal.objects.files import FileObjects
from surefoot.journal.objects.opening import open_objects
from surefoot.journal.objects.s3 import S3Objects
from surefoot.journal.objects.signing import Keys, signed_headers


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.slow)])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    if request.param == "folder":
        yield FileObjects(tmp_path / "objects")
        return
    bucket = f"runs-{os.getpid()}-{abs(hash(request.node.name)) % 10_000}"
    store = request.getfixturevalue("s3_server").make_bucket(bucket, "team a/+surefoot")
    yield store
    store.close()


def _put(objects: ObjectStore, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    objects.put(digest, data)
    return digest


def test_content_is_stored_found_listed_and_deleted(objects: ObjectStore) -> None:
    missing = "0" * 64
    assert (list(objects.list()), objects.get(missing), objects.has(missing)) == ([], None, False)
    contents = [b"", b"short", bytes(range(256)) * 20_000]
    digests = [_put(objects, data) for data in contents]
    assert [objects.get(digest) for digest in digests] == contents
    assert all(objects.has(digest) for digest in digests)
    assert sorted(objects.list()) == sorted(digests)
    assert _put(objects, b"short") == digests[1]
    objects.delete(digests[1])
    objects.delete(digests[1])
    assert (objects.get(digests[1]), objects.has(digests[1])) == (None, False)
    assert sorted(objects.list()) == sorted([digests[0], digests[2]])


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 63 + "/"])
def test_a_name_that_is_no_hash_reaches_neither_disk_nor_network(objects: ObjectStore, name: str) -> None:
    for use in (objects.get, objects.has, objects.delete, lambda digest: objects.put(digest, b"x")):
        with pytest.raises(ValueError, match="not a SHA-256"):
            use(name)


@pytest.mark.slow
def test_a_list_of_many_pages_is_complete(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.journal.objects.s3.PAGE_KEYS", 3)
    store = s3_server.make_bucket("many")
    digests = {_put(store, str(n).encode()) for n in range(10)}
    assert set(store.list()) == digests
    store.close()


@pytest.mark.slow
def test_a_missing_bucket_and_a_missing_server_are_told(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JournalError, match="404 NoSuchBucket") as raised:
        _put(S3Objects(s3_server.address, "nowhere", "", KEYS), b"x")
    assert KEYS.secret_key not in str(raised.value)
    monkeypatch.setattr("surefoot.journal.objects.s3.time.sleep", lambda _: None)
    with pytest.raises(JournalError, match="does not answer"):
        S3Objects("http://127.0.0.1:1", "runs", "", KEYS).get("0" * 64)


@pytest.mark.parametrize("token", ["", "a-session-token"])
@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", "/runs/ab/abc", {}, b""),
        ("PUT", "/runs/team%20a/%2Bx", {}, b"content"),
        ("GET", "/runs", {"list-type": "2", "prefix": "team a/+", "continuation-token": "a/b=="}, b""),
    ],
)
def test_signatures_are_those_of_botocore(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str, query: dict[str, str], body: bytes, token: str
) -> None:
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    now = datetime(2026, 11, 17, 12, 0, 0, tzinfo=UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: now.replace(tzinfo=None))
    keys = Keys(KEYS.access_key, KEYS.secret_key, token, KEYS.region)
    request = AWSRequest(method=method, url=f"https://s3.example.com{path}", params=query, data=body)
    request.headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
    credentials = Credentials(keys.access_key, keys.secret_key, token or None)
    botocore.auth.S3SigV4Auth(credentials, "s3", keys.region).add_auth(request)
    ours = signed_headers(keys, method, "s3.example.com", path, query, body, now)
    assert ours["authorization"] == request.headers["Authorization"]


def test_stores_are_opened_by_their_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_objects(f"file://{tmp_path}/a%20b"), FileObjects)
    _put(open_objects(f"file://{tmp_path}/a%20b"), b"x")
    assert (tmp_path / "a b").is_dir()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    with pytest.raises(ConfigError, match="needs keys"):
        open_objects("s3://bucket/prefix")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    assert isinstance(open_objects("s3://bucket/prefix"), S3Objects)
    for wrong in ("http://x/y", "file://host/x", "/x", "s3://", "s3://user:pass@bucket"):
        with pytest.raises(ConfigError, match="must be the address"):
            open_objects(wrong)
