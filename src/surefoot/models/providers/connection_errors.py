"""Convert failures of connections to model servers to `ModelError`s with a remedy. Shared by all clients."""

import os
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from surefoot.errors import ModelError, ModelUnavailable, NotAModelServer, ServerUnreachable, UntrustedServer
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.errors import OTHER_MODEL, Endpoint, is_loopback

_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_NOT_HTTP = ("illegal status line", "illegal header line", "TooManyRedirects", "UnsupportedProtocol")


def unreachable(endpoint: Endpoint, error: BaseException) -> ModelError:
    """The error for a failed connection. The innermost cause has the reason."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls_error(endpoint, cause)
    innermost = causes[-1]
    reason = _reason(endpoint, innermost)
    if any(mark in f"{type(cause).__name__} {cause}" for mark in _NOT_HTTP for cause in causes):
        return NotAModelServer(f"no model server answers at {endpoint.url}: {reason}", remedy=endpoint.wrong_address)
    return ServerUnreachable(f"{endpoint.url} cannot be reached: {reason}", remedy=_unreachable_remedy(endpoint))


def timed_out(endpoint: Endpoint, seconds: float, error: BaseException, connect_seconds: float) -> ModelUnavailable:
    """The error for a server that sent nothing for too long, before or after it accepted the connection."""
    if any(type(cause).__name__ == "ConnectTimeout" for cause in _causes(error)):
        return ServerUnreachable(
            f"{endpoint.url} did not accept a connection within {min(seconds, connect_seconds):g} seconds",
            remedy=_unreachable_remedy(endpoint),
        )
    return ModelUnavailable(
        f"{endpoint.url} sent nothing for {seconds:g} seconds",
        remedy=f"check the server, try again later, {OTHER_MODEL}",
    )


def ended_early(endpoint: Endpoint, reason: str = "") -> ModelUnavailable:
    suffix = f": {endpoint.quote(reason)}" if reason else ""
    return ModelUnavailable(f"the answer from {endpoint.url} ended early{suffix}", remedy="try again")


def not_a_stream(endpoint: Endpoint, content_type: str) -> NotAModelServer:
    kind = endpoint.quote(content_type) or "an unknown content type"
    page = "a web page" if "html" in kind else kind
    return NotAModelServer(
        f"no model server answers at {endpoint.url}: it sent {page} ({kind}) instead of a stream of events",
        remedy=endpoint.wrong_address,
    )


def trusted(address: str) -> ssl.SSLContext | bool:
    """The `verify` option of a client. On loopback, where it ignores the environment, SSL_CERT_FILE still applies."""
    own = os.environ.get("SSL_CERT_FILE")
    if own and is_loopback(address) and urlsplit(address).scheme == "https":
        return ssl.create_default_context(cafile=own)
    return True


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(endpoint: Endpoint, error: BaseException) -> str:
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return "nothing listens on this port"
    if isinstance(error, socket.gaierror):
        return f"the host {urlsplit(endpoint.base_url).hostname} is not known"
    if "illegal status line" in str(error):
        return "the server there does not speak HTTP"
    return endpoint.quote(str(error)) or type(error).__name__


def _unreachable_remedy(endpoint: Endpoint) -> str:
    known = PROVIDERS.get(endpoint.provider)
    start = f": {known.start_command}" if known and known.start_command else ""
    otherwise = f"or correct the address, from {endpoint.address_from}" if endpoint.address_from else OTHER_MODEL
    if is_loopback(endpoint.base_url):
        return f"check that the server is running{start}, {otherwise}"
    proxy = next((name for name in _PROXIES if os.environ.get(name)), "")
    return f"check the network{f' and the proxy in {proxy}' if proxy else ''}, {otherwise}"


def _tls_error(endpoint: Endpoint, error: ssl.SSLError) -> UntrustedServer:
    if error.reason == "WRONG_VERSION_NUMBER":
        plain = endpoint.url.replace("https://", "http://", 1)
        return UntrustedServer(
            f"{endpoint.url} does not speak TLS", remedy=f"if it is a server of your own, write {plain}"
        )
    reason = getattr(error, "verify_message", "") or error.reason or str(error)
    return UntrustedServer(
        f"the certificate of {endpoint.url} is not trusted: {endpoint.quote(str(reason))}",
        remedy="if your own authority signed it, name its file: export SSL_CERT_FILE=/path/to/ca.pem; otherwise do not "
        "send anything there",
    )
