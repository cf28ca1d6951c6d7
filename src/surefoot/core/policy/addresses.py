"""Web addresses: their normal form, which of them are private, and whether a rule's pattern fits one.

Nothing is resolved here. A host name may stand for any address; `http_get` checks what it resolves to.
"""

import ipaddress
import re
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|\d+")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAMES = ("localhost", "local", "internal", "lan", "home.arpa", "intranet", "localdomain")
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(NamedTuple):
    scheme: str
    host: str
    """In lower case, without a trailing dot; an IP address in its usual form."""
    port: int
    path: str
    """With the query, without the fragment."""

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS.get(self.scheme) else f":{self.port}")

    def __str__(self) -> str:
        return self.origin + self.path


def parse_address(url: str) -> Address | None:
    """Return the address in its normal form, without user name and password; None if it is not http."""
    try:
        parts = urlsplit(re.sub(r"[\t\r\n]", "", url.strip()).replace("\\", "/"))
        scheme, host = parts.scheme.lower(), parts.hostname or ""
        port = parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return None
    try:
        host = (host if host.isascii() else host.encode("idna").decode()).rstrip(".")
    except UnicodeError:
        return None
    if scheme not in _PORTS or not re.fullmatch(r"[A-Za-z0-9._~%:-]+", host):
        return None
    number = as_ip(host)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(scheme, str(number) if number else host.lower(), port, path)


def as_ip(host: str) -> IpAddress | None:
    """Return the IP address that a host is written as; None if it is a name. Accepts the forms that the resolver of the
    system reads, such as `127.1`, `0x7f.1` and `2130706433`."""
    try:
        return _embedded(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        *first, last = [
            int(part, 16 if part[:2].lower() == "0x" else 8 if part.startswith("0") else 10) for part in parts
        ]
    except ValueError:
        return None
    if any(part > 255 for part in first) or last >= 256 ** (5 - len(parts)):
        return None
    leading = sum(part << (24 - 8 * position) for position, part in enumerate(first))
    return ipaddress.IPv4Address(leading + last)


def _embedded(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address wraps, or else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if inner is None and int(address) >> 32 == 0 and int(address) > 1:
        inner = ipaddress.IPv4Address(int(address))
    return inner or address


def private_kind(address: str) -> str:
    """Return the kind of a non-public IP address; empty if it is public, or not an IP address."""
    ip = as_ip(address)
    if ip is None:
        return ""
    if ip.is_loopback or ip.is_unspecified:
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    return "" if ip.is_global and not ip.is_multicast else "private"


def is_private_host(host: str) -> bool:
    """Whether a host, as it is written, is private: a non-public IP address, or a name of a local network."""
    return bool(private_kind(host)) or any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES)


def fits(pattern: str, address: Address, *, explicit: bool = False) -> bool:
    """Whether a rule's pattern fits: `https://*.python.org/*`, `docs.python.org`, `http://127.0.0.1:8000/*`.

    Scheme, host and path are compared separately, so that a `*` in the host does not match any part of the path. With
    `explicit`, the pattern must name the host, as private addresses require.
    """
    scheme, separator, rest = pattern.strip().partition("://")
    if not separator:
        scheme, rest = "*", pattern.strip()
    host, slash, path = rest.partition("/")
    name, _, port = host.rpartition(":") if re.search(r":(\d+|\*)$", host) else (host, "", "*")
    name = name.strip("[]")
    if explicit and re.sub(r"[*?.\[\]!-]", "", name) == "":
        return False
    return (
        fnmatchcase(address.scheme, scheme.lower())
        and fnmatchcase(address.host, name.lower())
        and fnmatchcase(str(address.port), port)
        and (not slash or fnmatchcase(address.path, slash + path))
    )
