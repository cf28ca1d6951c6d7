"""What goes wrong between us and a model's server, told in Surefoot's own errors: what happened, and what to do now.

The clients differ in their SDK; the ways in which servers fail are the same, and so are the words for them.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from surefoot.errors import ModelError, ModelRateLimited, ModelRejected, ModelUnavailable
from surefoot.redact import Redactor, neutralise

LONGEST_QUOTE = 300
MOST_LISTED = 12
ANOTHER = "or choose another model with -m"

_CONTEXT = re.compile(
    r"context.?length|context.?window|maximum context|context.?size|exceed\w* .{0,40}context|prompt is too long|"
    r"too many (?:input )?tokens|input is too long|string_above_max_length",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model_not_found|model.{0,80}(?:not exist|not found)|not a valid model|unknown model|no such model",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient.?(?:quota|balance|funds|credits)|credit balance|spend.?limit", re.IGNORECASE)
_ECHOED = frozenset(("input", "ctx", "body"))
"""Where validation errors repeat what they were sent: a prompt that talks of keys must not be taken for a complaint."""


@dataclass(frozen=True)
class Place:
    """Where a request went, in words that may be shown."""

    base_url: str
    model: str
    api_key: str | None = None
    key_variable: str = ""
    """The environment variable that holds the key, for remedies."""

    @property
    def shown(self) -> str:
        """The address without a user's name and password."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def quote(self, text: str) -> str:
        """Foreign words on one line, short, without keys and control characters."""
        secrets = [self.api_key, urlsplit(self.base_url).password]
        line = " ".join(neutralise(Redactor(s for s in secrets if s).redact(text)).split())
        for secret in secrets:
            # Redaction lets short values pass, because they are mostly words; of a key we know what it is.
            line = line.replace(secret, "[redacted]") if secret else line
        return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 3] + "..."


def complaint_of(body: object) -> str:
    """All that a server's error says, for looking at."""

    def without_echo(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: without_echo(value) for key, value in part.items() if key not in _ECHOED}
        return [without_echo(item) for item in part] if isinstance(part, list) else part

    return body if isinstance(body, str) else json.dumps(without_echo(body), ensure_ascii=False, default=str)


def words_of(body: object) -> str:
    """The sentence for people in a server's error; servers put it in different places."""
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        return next((said for key in ("message", "error", "detail", "msg") if (said := words_of(body.get(key)))), "")
    return words_of(body[0]) if isinstance(body, list) and body else ""


def status_told_in(body: object) -> int:
    """The status of an error that came inside a stream, where HTTP has said 200 already."""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        return 500
    if (code := str(body.get("code", ""))).isdigit() and 400 <= int(code) < 600:
        return int(code)
    kinds = {"rate_limit": 429, "invalid_request": 400, "authentication": 401, "permission": 403, "exceed_context": 400}
    said = f"{body.get('type')} {body.get('code')}"
    return next((status for kind, status in kinds.items() if kind in said), 500)


def is_about_context(complaint: str) -> bool:
    return _CONTEXT.search(complaint) is not None


def names_unknown_model(status: int, body: object) -> bool:
    return status == 404 or (status in (400, 422) and _MODEL.search(complaint_of(body)) is not None)


def refusal(place: Place, status: int, body: object, headers: Mapping[str, str] | None = None) -> ModelError:
    """What an HTTP status and its body mean."""
    complaint = complaint_of(body)
    words = place.quote(words_of(body) or complaint)
    said = f": {words}" if words and words != "null" else ""
    if status == 429 and not _QUOTA.search(complaint):
        return ModelRateLimited(
            f"{place.shown} takes no more requests at the moment{said}",
            remedy=f"wait, ask for less at once, {ANOTHER}",
            retry_after=retry_after(headers or {}),
        )
    if status in (402, 429) or (status in (400, 403) and _QUOTA.search(complaint)):
        return ModelRejected(f"the account at {place.shown} has no quota left{said}", remedy=f"top it up, {ANOTHER}")
    if status in (401, 403):
        return _wrong_key(place, said)
    if status == 413 or (status in (400, 422, 500) and is_about_context(complaint)):
        return ModelRejected(
            f"the request does not fit into the context of {place.model}{said}",
            remedy="give the server a larger context, or set model.context_tokens to what it has, "
            "so that prompts are kept shorter",
        )
    if status in (408, 409, 425) or status >= 500:
        return ModelUnavailable(
            f"{place.shown} could not answer (status {status}){said}", remedy=f"try again later, {ANOTHER}"
        )
    return ModelRejected(
        f"{place.shown} refused the request (status {status}){said}",
        remedy=f"check the model's name and the address of the server, {ANOTHER}",
    )


def unknown_model(place: Place, body: object, served: Sequence[str]) -> ModelRejected:
    if served:
        listed = ", ".join(served[:MOST_LISTED])
        more = f" and {len(served) - MOST_LISTED} more" if len(served) > MOST_LISTED else ""
        return ModelRejected(f"{place.shown} has no model {place.model}", remedy=f"it has {listed}{more}")
    words = place.quote(words_of(body))
    return ModelRejected(
        f"{place.shown} knows no model {place.model}" + (f": {words}" if words else ""),
        remedy="check the name of the model and the address; the addresses of most servers end in /v1",
    )


def unreachable(place: Place, error: BaseException) -> ModelUnavailable:
    """Refused, no such host, connection lost: the deepest cause is the one that says it."""
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    words = place.quote(str(error)) or type(error).__name__
    return ModelUnavailable(
        f"{place.shown} cannot be reached: {words}",
        remedy=f"check that the server is running and the address is right, {ANOTHER}",
    )


def timed_out(place: Place, seconds: float) -> ModelUnavailable:
    return ModelUnavailable(
        f"{place.shown} was silent for {seconds:g} seconds",
        remedy=f"check what the server is doing, try again later, {ANOTHER}",
    )


def cut_off(place: Place, why: str = "") -> ModelUnavailable:
    words = f": {place.quote(why)}" if why else ""
    return ModelUnavailable(f"the answer from {place.shown} broke off in the middle{words}", remedy="try again")


def no_stream(place: Place, content_type: str) -> ModelRejected:
    return ModelRejected(
        f"{place.shown} answered with {place.quote(content_type) or 'something unnamed'} instead of a stream of events",
        remedy="check the address; those of most servers end in /v1",
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until a server wants to be asked again, however it says so."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            return max(0.0, float(value) * scale)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            pass
    return None


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wrong_key(place: Place, said: str) -> ModelRejected:
    variable = place.key_variable
    if place.api_key:
        remedy = f"check the key in {variable}" if variable else "check the API key"
        return ModelRejected(f"{place.shown} does not accept the API key{said}", remedy=remedy)
    remedy = f"set {variable}" if variable else "name the variable that holds the key with model.api_key_env"
    return ModelRejected(f"{place.shown} wants an API key{said}", remedy=remedy)
