"""Web addresses: one form for every spelling, private ones, and patterns of rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.policy.addresses import fits, is_private_host, parse_address, private_kind
from surefoot.core.policy.rules import Ruling, rule_on, suggested_rule


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a?b#c", "https://example.com/a?b"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com./x", "http://example.com/x"),
        ("http://user:word@example.com/", "http://example.com/"),
        ("http://good.com\\@evil.com/", "http://good.com/@evil.com/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0177.0.0.01/", "http://127.0.0.1/"),
        ("http://[::ffff:10.0.0.1]/", "http://10.0.0.1/"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
        ("ht\ntp://example.com/", "http://example.com/"),
    ],
)
def test_every_spelling_has_one_form(url: str, normal: str) -> None:
    assert str(parse_address(url)) == normal


@pytest.mark.parametrize("url", ["", "ftp://x/", "file:///etc/passwd", "http://", "http://[x", "http://a:b/", "//x"])
def test_other_addresses_have_none(url: str) -> None:
    assert parse_address(url) is None


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"), ("127.9.9.9", "loopback"), ("::1", "loopback"), ("0.0.0.0", "loopback"),
        ("::", "loopback"),
        ("10.1.2.3", "private"), ("172.16.0.1", "private"), ("192.168.1.1", "private"), ("100.64.0.1", "private"),
        ("169.254.169.254", "link-local"), ("fe80::1", "link-local"), ("fe80::1%eth0", "link-local"),
        ("fd00::1", "private"),
        ("::ffff:127.0.0.1", "loopback"), ("::ffff:169.254.169.254", "link-local"), ("64:ff9b::a00:1", "private"),
        ("2002:7f00:1::", "loopback"), ("::127.0.0.1", "loopback"), ("224.0.0.1", "private"),
        ("255.255.255.255", "private"),
        ("8.8.8.8", ""), ("2606:4700::1111", ""), ("::ffff:8.8.8.8", ""), ("example.com", ""), ("1.2.3.4.5", ""),
    ],
)  # fmt: skip
def test_kinds_of_private_addresses(address: str, kind: str) -> None:
    assert private_kind(address) == kind


@given(st.integers(0, 0xFFFFFF))
def test_any_spelling_of_loopback_is_private(rest: int) -> None:
    number = 0x7F000000 + rest
    a, b, c = rest >> 16, rest >> 8 & 255, rest & 255
    for host in (
        number,
        hex(number),
        f"0{number:o}",
        f"127.{rest}",
        f"0x7f.{a}.{b * 256 + c}",
        f"127.0{a:o}.{b}.{c:#x}",
    ):
        address = parse_address(f"http://{host}./")
        assert address is not None
        assert is_private_host(address.host)


@given(st.text(max_size=60))
def test_any_text_is_read(url: str) -> None:
    for text in (url, f"http://{url}"):
        address = parse_address(text)
        assert address is None or parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("https://docs.python.org/*", "https://docs.python.org/3/", True),
        ("https://docs.python.org/*", "http://docs.python.org/3/", False),
        ("https://docs.python.org", "https://docs.python.org/3/", True),
        ("docs.python.org", "http://docs.python.org/3/", True),
        ("*.python.org", "https://docs.python.org/", True),
        ("https://*.python.org/*", "https://evil.com/.python.org/x", False),
        ("https://docs.python.org*", "https://docs.python.org@evil.com/", False),
        ("https://docs.python.org/*", "https://docs.python.org./x", True),
        ("http://127.0.0.1:8000/*", "http://127.0.0.1:8000/x", True),
        ("http://127.0.0.1:8000/*", "http://127.0.0.1:9000/x", False),
        ("https://*", "https://anything.example/x", True),
    ],
)
def test_patterns_compare_scheme_host_and_path_apart(pattern: str, url: str, expected: bool) -> None:
    address = parse_address(url)
    assert address is not None
    assert fits(pattern, address) is expected


def fetch(url: str, *, allow: str = "", deny: str = "") -> Ruling:
    return rule_on("external", "http_get", {"url": url}, "auto", (allow,) if allow else (), (deny,) if deny else ())


@pytest.mark.req("P12")
def test_private_addresses_need_a_rule_that_names_them() -> None:
    assert fetch("https://example.com/", allow="http_get") == "allow"
    for url in (
        "http://127.0.0.1/",
        "http://localhost:8000/",
        "http://2130706433/",
        "http://169.254.169.254/",
        "http://db.internal/",
    ):
        for broad in ("http_get", "http_get(*)", "http_get(http://*)", "http_get(*.*.*.*)"):
            assert fetch(url, allow=broad) == "ask"
    assert fetch("http://0x7f.1:8000/x", allow="http_get(http://127.0.0.1:8000/*)") == "allow"


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/",
        "https://EVIL.com./x",
        "https://good.com@evil.com/",
        "http://evil.com:8080",
        "https://a.evil.com/",
    ],
)
def test_deny_rules_find_a_host_in_any_spelling(url: str) -> None:
    assert fetch(url, allow="http_get", deny="http_get(*evil.com)") == "deny"


def test_suggested_rule_is_for_the_server() -> None:
    assert suggested_rule("http_get", {"url": "https://Example.com/a/b?c"}) == "http_get(https://example.com/*)"
    assert suggested_rule("http_get", {"url": "http://127.0.0.1:8000/a"}) == "http_get(http://127.0.0.1:8000/*)"
