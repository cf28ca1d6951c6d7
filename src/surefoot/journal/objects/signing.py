"""Signs requests to an S3-compatible server with AWS Signature Version 4. Does no I/O.

The signature covers the method, the path, the query, the host, the time and a hash of the content.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Keys:
    access_key: str
    secret_key: str
    token: str = ""
    """The session token of temporary keys."""
    region: str = "us-east-1"


def canonical_query(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='-_.~')}={quote(query[name], safe='-_.~')}" for name in sorted(query))


def signed_headers(
    keys: Keys, method: str, host: str, path: str, query: Mapping[str, str], body: bytes, now: datetime | None = None
) -> dict[str, str]:
    """Return the headers of a request. `path` must be percent-encoded."""
    at = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    content = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": content, "x-amz-date": at}
    if keys.token:
        headers["x-amz-security-token"] = keys.token
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    request = "\n".join([method, path, canonical_query(query), *lines, "", names, content])
    scope = f"{at[:8]}/{keys.region}/s3/aws4_request"
    text = "\n".join([ALGORITHM, at, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = hmac.new(_signing_key(keys, at[:8]), text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={keys.access_key}/{scope}"
    return {**headers, "authorization": f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"}


def _signing_key(keys: Keys, day: str) -> bytes:
    key = f"AWS4{keys.secret_key}".encode()
    for part in (day, keys.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
