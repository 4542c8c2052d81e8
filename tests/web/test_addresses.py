"""Addresses of pages: read strictly, and private ones never reached, however they are spelled."""

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.web.addresses import (
    AddressProblem,
    check_address,
    numeric_address,
    read_address,
)
from ollm_tui.web.loading import PageLoader
from ollm_tui.web.page import LoadFailure
from tests.support.http_server import Received, Reply, serve

SPELLINGS = (
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1"),
    *("017700000001", "0", "0.0.0.0", "①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1."),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fe80::1]"),
    *("localhost", "LOCALHOST", "rebound.example"),
)


async def to_loopback(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_25_spellings_of_private_addresses_connect_to_nothing() -> None:
    assert len(SPELLINGS) == 25

    async def page(_request: Received, reply: Reply) -> None:
        await reply.whole(b"private", content_type="text/plain")

    async with serve(page) as server:
        for spelling in SPELLINGS:
            address = read_address(f"http://{spelling}:{server.port}/secret")
            with pytest.raises(LoadFailure, match="Refused: private address"):
                await PageLoader(resolve=to_loopback).load(address)
        assert server.opened == 0
        allowed = PageLoader([ipaddress.ip_network("127.0.0.0/8")], resolve=to_loopback)
        loaded = await allowed.load(read_address(f"http://localhost:{server.port}/secret"))
        assert (bytes(loaded.body), server.opened) == (b"private", 1)


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.1.2.3"),
        *("192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1"),
        *("fd00::1", "fe80::1%eth0", "ff02::1", "fec0::1", "2001:0:7f00:1::", "64:ff9b:1::1"),
        *("::ffff:10.0.0.1", "2001:db8::1", "2002:a00:1::", "no address"),
        *("3fff::1", "5f00::1"),
    ],
)
def test_private_and_translated_addresses_are_refused(address: str) -> None:
    with pytest.raises(AddressProblem):
        check_address(address)


def test_networks_of_the_settings_are_allowed() -> None:
    check_address("93.184.216.34")
    check_address("2606:2800:220:1:248:1893:25c8:1946")
    own = [ipaddress.ip_network("192.168.1.0/24")]
    check_address("192.168.1.7", own)
    check_address("::ffff:192.168.1.7", own)
    with pytest.raises(AddressProblem, match=r"private address \(192.168.2.7\)"):
        check_address("192.168.2.7", own)


# No spelling of a private IPv4 address is taken for a public one
@settings(max_examples=100)
@given(
    st.ip_addresses(v=4),
    st.sampled_from(["{0}", "::ffff:{0}", "::ffff:0:{0}", "64:ff9b::{0}", "::{0}"]),
)
def test_no_spelling_of_a_private_address_passes(address: ipaddress.IPv4Address, form: str) -> None:
    if address.is_global:
        return
    with pytest.raises(AddressProblem):
        check_address(form.format(address))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG:443/a b".replace(" ", "%20"), "https://example.org/a%20b"),
        ("http://example.org:8080/?q=ü#part", "http://example.org:8080/?q=%C3%BC"),
        ("https://bücher.example/ß", "https://xn--bcher-kva.example/%C3%9F"),
        ("https://\u0435\u0445ample.org/", "https://xn--ample-ywe6i.org/"),
        ("https://[2606:2800::1]/", "https://[2606:2800::1]/"),
    ],
)
def test_an_address_is_spelled_as_it_is_sent(text: str, url: str) -> None:
    address = read_address(text)
    assert address.url == url
    assert address.url.isascii()
    assert read_address(address.url).url == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file:///etc/passwd", "must begin with"),
        ("example.org", "must begin with"),
        ("gopher://example.org/", "must begin with"),
        ("https://good.example@evil.example/", "user name"),
        ("https://evil.example\\@good.example/", "spaces"),
        ("https://exa\nmple.org/", "spaces"),
        ("https://example.org/ a", "spaces"),
        ("https://example.org:0/", "not valid"),
        ("https://example.org:99999/", "not valid"),
        ("https:///path", "host"),
        ("https://[::1/", "not valid"),
        ("https://[v1.x]/", "not valid"),
        ("https://-a.example/", "host"),
        ("https://a%2eb/", "host"),
        ("https://☃\u200d.example/", "host"),
        ("https://example.org/\ud800", "spaces"),
        (f"https://example.org/{'a' * 4000}", "longer"),
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_refused(text: str, why: str) -> None:
    with pytest.raises(AddressProblem, match=why):
        read_address(text)


def test_numbers_are_known_without_asking_a_server() -> None:
    assert numeric_address("2130706433") == "127.0.0.1"
    assert numeric_address("::1") == "::1"
    assert numeric_address("example.org") is None


@pytest.mark.parametrize(
    ("to", "stays"),
    [
        ("/other", True),
        ("https://example.org/", True),
        ("https://www.example.org/", True),
        ("http://example.org/", False),
        ("https://example.org:8443/", False),
        ("https://evil.example/", False),
        ("https://a.example.org/", False),
    ],
)
def test_a_redirect_stays_with_the_host_that_was_shown(to: str, stays: bool) -> None:
    asked = read_address("https://example.org/page")
    assert asked.target_of(to).is_covered_by(asked) is stays
