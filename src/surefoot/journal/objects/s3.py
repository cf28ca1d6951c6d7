"""An object store in a bucket of S3 or a compatible server, such as MinIO, Ceph or Garage.

It needs only four HTTP methods, so it uses no SDK: boto3 and botocore take 22 MB.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from surefoot.errors import ConfigError, JournalError
from surefoot.journal.objects.base import is_digest, require_digest
from surefoot.journal.objects.signing import Keys, canonical_query, signed_headers

if TYPE_CHECKING:
    import httpx2

TRIES = 4
PAGE_KEYS = 1_000
TIMEOUT_SECONDS = 60.0
_KEY = re.compile(r"<Key>([^<]*)</Key>")
_NEXT_PAGE = re.compile(r"<NextContinuationToken>([^<]*)</NextContinuationToken>")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")


class S3Objects:
    """Content in `PREFIX/ab/<digest>`."""

    def __init__(self, endpoint: str, bucket: str, prefix: str, keys: Keys) -> None:
        """`endpoint` is the address of the server. The bucket is part of the path, which every server supports."""
        self._endpoint, self._bucket, self._keys = endpoint.rstrip("/"), bucket, keys
        self._prefix = f"{prefix}/" if prefix else ""
        self._host = urlsplit(self._endpoint).netloc
        self._client: httpx2.Client | None = None

    @classmethod
    def from_environment(cls, bucket: str, prefix: str, environ: Mapping[str, str] = os.environ) -> "S3Objects":
        """Read keys, region and server from the variables that AWS's own programs use."""
        access, secret = environ.get("AWS_ACCESS_KEY_ID", ""), environ.get("AWS_SECRET_ACCESS_KEY", "")
        if not access or not secret:
            raise ConfigError(
                f"the object store s3://{bucket} needs keys", remedy="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
        keys = Keys(access, secret, environ.get("AWS_SESSION_TOKEN", ""), region)
        return cls(endpoint or f"https://s3.{region}.amazonaws.com", bucket, prefix, keys)

    def put(self, digest: str, data: bytes) -> None:
        if not self.has(digest):
            self._require(self._send("PUT", self._name(digest), body=data), 200, 201, 204)

    def get(self, digest: str) -> bytes | None:
        answer = self._send("GET", self._name(digest))
        return None if answer.status_code == 404 else self._require(answer, 200).content

    def has(self, digest: str) -> bool:
        answer = self._send("HEAD", self._name(digest))
        return answer.status_code != 404 and bool(self._require(answer, 200))

    def delete(self, digest: str) -> None:
        self._require(self._send("DELETE", self._name(digest)), 200, 204, 404)

    def list(self) -> Iterator[str]:
        query = {"list-type": "2", "max-keys": str(PAGE_KEYS), "prefix": self._prefix}
        while True:
            text = self._require(self._send("GET", "", query), 200).text
            names = (unescape(name).rpartition("/")[2] for name in _KEY.findall(text))
            yield from (name for name in names if is_digest(name))
            next_page = _NEXT_PAGE.search(text)
            if next_page is None:
                return
            query = {**query, "continuation-token": unescape(next_page[1])}

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _name(self, digest: str) -> str:
        return f"/{self._prefix}{require_digest(digest)[:2]}/{digest}"

    def _send(
        self, method: str, name: str, query: Mapping[str, str] | None = None, body: bytes = b""
    ) -> "httpx2.Response":
        """Send a request, and retry if the server is busy or cannot be reached: every request is idempotent."""
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(timeout=TIMEOUT_SECONDS)
        path = quote(f"/{self._bucket}{name}", safe="/-_.~")
        url = f"{self._endpoint}{path}" + (f"?{canonical_query(query)}" if query else "")
        for attempt in range(1, TRIES + 1):
            headers = signed_headers(self._keys, method, self._host, path, query or {}, body)
            try:
                answer = self._client.request(method, url, headers=headers, content=body or None)
            except httpx2.HTTPError as error:
                if attempt == TRIES:
                    raise JournalError(
                        f"the object store {self._endpoint} does not answer: {error}",
                        remedy="see that it runs and can be reached from here, then resume",
                    ) from error
            else:
                if answer.status_code not in (429, 500, 502, 503, 504) or attempt == TRIES:
                    return answer
            time.sleep(0.2 * 2**attempt)
        raise AssertionError

    def _require(self, answer: "httpx2.Response", *codes: int) -> "httpx2.Response":
        if answer.status_code in codes:
            return answer
        code = _CODE.search(answer.text)
        raise JournalError(
            f"the object store {self._endpoint} refused a request for bucket {self._bucket}: "
            f"{answer.status_code} {code[1] if code else answer.reason_phrase}",
            remedy="check that the bucket exists, its region, and the rights of the keys",
        )
