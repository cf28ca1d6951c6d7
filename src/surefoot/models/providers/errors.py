"""Convert error responses of model servers to `ModelError`s with a remedy. Shared by all clients.

`connection_errors.py` converts failures of connections.
"""

import difflib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from surefoot.errors import (
    ContextOverflow,
    KeyRejected,
    KeyRequired,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
    NotAModelServer,
    NotPermitted,
    QuotaExhausted,
    UnknownModel,
)
from surefoot.journal.redact import Redactor, neutralise
from surefoot.models.providers.catalog import PROVIDERS

MAX_QUOTE_CHARS = 300
MAX_LISTED_MODELS = 12
OTHER_MODEL = "or choose another model with -m"
NAME_THE_KEY = "name the variable that holds the key: export SUREFOOT_MODEL__API_KEY_ENV=NAME, or set model.api_key_env"

_CONTEXT = re.compile(
    r"context.?length|context.?window|maximum context|context.?size|exceed\w* .{0,40}context|prompt is too long|"
    r"too many (?:input )?tokens|input is too long|string_above_max_length|exceed\w* model token limit|"
    r"prompt exceeds max length|input token count.{0,40}exceeds|input length and .{0,20}exceed|"
    r"longer than the maximum model length|maximum prompt length|prompt token count.{0,40}exceeds|"
    r"range of input length|max_new_tokens`? must be <=|input tokens exceed",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:maximum context length (?:is|of)|context (?:length|window|size) (?:is|of)|model token limit:?|"
    r"maximum number of (?:input )?tokens allowed|n_ctx[\"': ]+|tokens >|\+ \d+ >|context (?:length|size) \(|"
    r"maximum (?:model|prompt) length (?:is|of)|exceeds the limit of|configured limit of|must be <=|"
    r"input length should be \[1,)\D{0,12}(\d{3,8})|"
    r"(\d{3,8}) (?:maximum context length|maximum\b)",
    re.IGNORECASE,
)
_NEEDED = re.compile(
    r"(?:resulted in|you requested(?: about)?|prompt is too long:|input token count \(?|n_prompt_tokens[\"': ]+|"
    r"your request has|prompt contains(?: at least)?|request \(|request contains|prompt \(length|"
    r"the input \(|you passed|prompt token count of|given:)\D{0,12}(\d{3,8})",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model_not_found|model.{0,80}(?:not exist|not found)|not a valid model|unknown model|no such model",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient.?(?:quota|balance|funds|credits)|credit balance|spend.?limit", re.IGNORECASE)
_KEY = re.compile(
    r"api.?key|authenticat|invalid.?(?:token|credential)|unauthori[sz]ed|not logged in|bearer", re.IGNORECASE
)
_PAGE = re.compile(r"^\s*(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.{1,200}?)</title>", re.IGNORECASE | re.DOTALL)
_ECHO_KEYS = frozenset(("input", "ctx", "body"))
"""Keys under which validation errors repeat the request. Its prompt must not be mistaken for the error."""


@dataclass(frozen=True)
class Endpoint:
    """The server, model and key of a client, for error messages."""

    base_url: str
    model: str
    api_key: str | None = None
    key_variable: str = ""
    """The environment variable of the key, for remedies."""
    provider: str = ""
    """A name in the catalogue, for remedies."""
    address_from: str = ""
    """The setting or variable that the address comes from, for remedies; empty for a provider's own address."""

    @property
    def wrong_address(self) -> str:
        """A remedy for an address at which something else answers, or nothing."""
        if not self.address_from:
            return "check the network and the proxy settings"
        known = PROVIDERS.get(self.provider)
        if known is not None and known.protocol == "messages":
            return f"correct the address, from {self.address_from}; it does not end in /v1"
        example = "" if urlsplit(self.base_url).path.rstrip("/") else f", such as {self.url}/v1"
        return f"correct the address, from {self.address_from}; most end in /v1{example}"

    @property
    def secrets(self) -> dict[str, str]:
        """The API key and the address's password, by the names that messages use for them."""
        password = urlsplit(self.base_url).password
        named = {self.key_variable or "the API key": self.api_key, "the server's password": password}
        return {name: value for name, value in named.items() if value}

    @property
    def url(self) -> str:
        """The address without user name and password."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def quote(self, text: str) -> str:
        """Text from the server on one short line, without keys and control characters. A page is named by its title."""
        if _PAGE.match(text):
            title = _TITLE.search(text)
            text = f"a web page, {' '.join(title.group(1).split())!r}" if title else "a web page"
        line = " ".join(neutralise(Redactor(self.secrets).redact(text)).split())
        for secret in self.secrets.values():
            # The redactor skips short values, because they are usually words; this one is known to be a secret.
            line = line.replace(secret, "[redacted]")
        return line if len(line) <= MAX_QUOTE_CHARS else line[: MAX_QUOTE_CHARS - 3] + "..."


def error_text(body: object) -> str:
    """The whole error of a server as text, for pattern matching."""

    def without_echo(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: without_echo(value) for key, value in part.items() if key not in _ECHO_KEYS}
        return [without_echo(item) for item in part] if isinstance(part, list) else part

    return body if isinstance(body, str) else json.dumps(without_echo(body), ensure_ascii=False, default=str)


def error_message(body: object) -> str:
    """The human-readable message of a server's error, which servers put in different places."""
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        return next(
            (text for key in ("message", "error", "detail", "msg") if (text := error_message(body.get(key)))), ""
        )
    return error_message(body[0]) if isinstance(body, list) and body else ""


def status_in_body(body: object) -> int:
    """The status of an error inside a stream, whose HTTP status is already 200."""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        return 500
    if (code := str(body.get("code", ""))).isdigit() and 400 <= int(code) < 600:
        return int(code)
    kinds = {"rate_limit": 429, "invalid_request": 400, "authentication": 401, "permission": 403}
    kinds |= {"exceed_context": 400, "context_length": 400, "invalid_prompt": 400, "insufficient_quota": 429}
    label = f"{body.get('type')} {body.get('code')}"
    return next((status for kind, status in kinds.items() if kind in label), 500)


def is_about_context(text: str) -> bool:
    return _CONTEXT.search(text) is not None


def is_page(body: object) -> bool:
    return isinstance(body, str) and _PAGE.match(body) is not None


def names_unknown_model(status: int, body: object) -> bool:
    return status == 404 or (status in (400, 422) and _MODEL.search(error_text(body)) is not None)


def status_error(endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str] | None = None) -> ModelError:
    """The error for an HTTP status and its body."""
    text = error_text(body)
    quote = endpoint.quote(error_message(body) or text)
    suffix = f": {quote}" if quote and quote != "null" else ""
    if status == 429 and not _QUOTA.search(text):
        return _rate_limited(endpoint, suffix, retry_after(headers or {}))
    if status in (402, 429) or (status in (400, 403) and _QUOTA.search(text)):
        key = f"use another key in {endpoint.key_variable}, " if endpoint.key_variable else ""
        return QuotaExhausted(
            f"the account at {endpoint.url} has no quota left{suffix}",
            remedy=f"add credit to the account, {key}{OTHER_MODEL}",
        )
    if status in (401, 403):
        return _no_access(endpoint, status, text, suffix)
    if status == 413 or (status in (400, 422, 500) and is_about_context(text)):
        return _overflow(endpoint, text, suffix)
    if status in (408, 409, 425) or status >= 500:
        return ModelUnavailable(
            f"{endpoint.url} could not answer (status {status}){suffix}", remedy=f"try again later, {OTHER_MODEL}"
        )
    if status in (301, 302, 303, 307, 308, 405) or is_page(body):
        return NotAModelServer(
            f"no model server answers at {endpoint.url} (status {status}){suffix}", remedy=endpoint.wrong_address
        )
    return ModelRejected(
        f"{endpoint.url} refused the request (status {status}){suffix}",
        remedy=f"check the model's name and the address of the server, {OTHER_MODEL}",
    )


def unknown_model(endpoint: Endpoint, body: object, served: Sequence[str]) -> ModelRejected:
    """The error for a model that the server does not have, or for an address at which no model server answers."""
    pull = f"get it: ollama pull {endpoint.model}; or " if endpoint.provider == "ollama" else ""
    if served:
        close = difflib.get_close_matches(endpoint.model, served, n=3)
        ordered = [*close, *(name for name in served if name not in close)]
        listed = ", ".join(ordered[:MAX_LISTED_MODELS])
        more = f" and {len(served) - MAX_LISTED_MODELS} more" if len(served) > MAX_LISTED_MODELS else ""
        return UnknownModel(
            f"{endpoint.url} has no model {endpoint.model}",
            remedy=f"{pull}choose one that it has with -m: {endpoint.quote(listed)}{more}",
        )
    quote = endpoint.quote(error_message(body) or error_text(body))
    suffix = f": {quote}" if quote and quote != "null" else ""
    if endpoint.address_from and not re.search(r"model", error_text(body), re.IGNORECASE):
        return NotAModelServer(
            f"no model server answers at {endpoint.url} (status 404){suffix}", remedy=endpoint.wrong_address
        )
    return UnknownModel(
        f"{endpoint.url} does not know the model {endpoint.model}{suffix}",
        remedy=f"{pull}correct the name of the model (-m, SUREFOOT_MODEL or model.model)",
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from either header, as a number or a date. None: not given."""
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


def _overflow(endpoint: Endpoint, text: str, suffix: str) -> ContextOverflow:
    limit, needed = _LIMIT.search(text), _NEEDED.search(text)
    return ContextOverflow(
        f"the request does not fit into the context of {endpoint.model}{suffix}",
        remedy="configure a larger context on the server, or set model.context_tokens to its size, "
        "so that prompts are shorter",
        limit=int(limit.group(1) or limit.group(2)) if limit else None,
        needed=int(needed.group(1)) if needed else None,
    )


def _rate_limited(endpoint: Endpoint, suffix: str, wait: float | None) -> ModelRateLimited:
    when = f"wait {duration(wait)}" if wait and wait > 1 else "wait some minutes"
    return ModelRateLimited(
        f"{endpoint.url} is limiting the rate of requests{suffix}",
        remedy=f"{when}; or send less at once: model.tokens_per_minute and model.concurrent_calls, {OTHER_MODEL}",
        retry_after=wait,
    )


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def _no_access(endpoint: Endpoint, status: int, text: str, suffix: str) -> ModelRejected:
    """The error for no key, a wrong key, or a valid key without the right to use the model."""
    variable = endpoint.key_variable
    if status == 403 and not _KEY.search(text):
        key = f"the key in {variable}" if variable else "your key" if endpoint.api_key else ""
        allow = f"allow {key} to use the model, in the account's settings" if key else NAME_THE_KEY
        return NotPermitted(
            f"{endpoint.url} does not permit the use of {endpoint.model}{suffix}", remedy=f"{allow}, {OTHER_MODEL}"
        )
    if not endpoint.api_key:
        remedy = f"export {variable}=..." if variable else NAME_THE_KEY
        return KeyRequired(f"{endpoint.url} requires an API key{suffix}", remedy=remedy)
    remedy = f"check the key in {variable}: export {variable}=..." if variable else "check the API key"
    return KeyRejected(f"{endpoint.url} does not accept the API key{suffix}", remedy=remedy)
