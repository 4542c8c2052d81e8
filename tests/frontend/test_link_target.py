"""Where a link leads: what is shown is what is opened, and what is doubtful is refused."""

from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.frontend.link_target import MAX_LENGTH, LinkRefusal, LinkTarget, read_host, read_link

CYRILLIC_A = "\u0430"


def target(address: str) -> LinkTarget:
    read = read_link(address)
    assert isinstance(read, LinkTarget), read
    return read


def reason(address: str) -> str:
    read = read_link(address)
    assert isinstance(read, LinkRefusal), read
    return read.reason


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("https://a.example", "https://a.example/"),
        ("HTTP://A.Example:80/B?c=D#e", "http://a.example/B?c=D#e"),
        ("https://a.example:8443/", "https://a.example:8443/"),
        (f"https://{CYRILLIC_A}pple.example/", "https://xn--pple-43d.example/"),
        ("http://fa\xdf.example", "http://xn--fa-hia.example/"),
        ("http://\uff45\uff56\uff49\uff4c\u3002example/", "http://evil.example/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://[0:0::1]/", "http://[::1]/"),
        ("http://a.example/\xfc x'`$\\", "http://a.example/%C3%BC%20x%27%60$%5C"),
        ("http://a.example/\u202e\u200b", "http://a.example/%E2%80%AE%E2%80%8B"),
        ("http://good@evil.example/", "http://good@evil.example/"),
        ("http://a:b@c@evil.example/", "http://a:b%40c@evil.example/"),
        ("mailto:ann@a.example?subject=x y", "mailto:ann@a.example?subject=x%20y"),
        (f"mailto:a@{CYRILLIC_A}.example,b@b.example", "mailto:a@xn--80a.example,b@b.example"),
    ],
)
def test_an_address_is_brought_into_one_form(address: str, opened: str) -> None:
    assert target(address).address == opened


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("javascript:alert(1)", "this one is javascript"),
        ("JaVaScRiPt:alert(1)", "this one is javascript"),
        ("file:///etc/passwd", "this one is file"),
        ("data:text/html,x", "this one is data"),
        ("vscode://file/x", "this one is vscode"),
        ("ssh://-oProxyCommand=x/", "this one is ssh"),
        ("-h", "does not begin with"),
        ("//a.example", "does not begin with"),
        ("", "does not begin with"),
        (" http://a.example", "does not begin with"),
        ("java\nscript:x", "control characters"),
        ("http://a.example/\r\nHost: b", "control characters"),
        ("http://a.example/\x1b]0;x\x07", "control characters"),
        ("http://a.example/\ud800", "control characters"),
        ("http:/a.example", "two slashes"),
        ("http:a.example", "two slashes"),
        ("http:\\\\a.example", "two slashes"),
        ("http://a.example\\@evil.example/", "backslash"),
        ("http:///a.example", "has no host"),
        ("http://", "has no host"),
        ("http://a..example", "has no host"),
        ("http://a b.example", "has no host"),
        ("http://ev%69l.example", "has no host"),
        ("http://a.example:x/", "has no host"),
        ("http://a.example:70000/", "has no host"),
        ("http://[::1", "has no host"),
        ("http://[fe80::1%25eth0]/", "has no host"),
        ("http://1.2.3.4.5/", "has no host"),
        ("http://256.1.1.1/", "has no host"),
        ("http://1.2.3.0x/", None),
        ("mailto:", "recipient"),
        ("mailto:ann", "recipient"),
        ("mailto:ann@a.example?attach=/etc/passwd", "attach a file"),
        ("mailto:ann@a.example?x=1&%61ttachment=/etc/passwd", "attach a file"),
        ("http://a.example/" + "x" * MAX_LENGTH, "characters"),
    ],
)
def test_what_may_lead_elsewhere_than_it_says_is_refused(address: str, words: str | None) -> None:
    if words is None:
        assert target(address).address == "http://1.2.3.0/"
    else:
        assert words in reason(address)


def test_a_user_name_is_distinguished_from_the_host() -> None:
    read = target("https://bank.example@evil.example:8080/in")
    assert (read.user, read.hosts[0].ascii, read.port) == ("bank.example", "evil.example", 8080)


def test_a_foreign_name_is_given_both_ways() -> None:
    for address in (f"http://{CYRILLIC_A}pple.example", "http://xn--pple-43d.example"):
        host = target(address).hosts[0]
        assert host.is_international
        assert (host.ascii, host.written) == ("xn--pple-43d.example", f"{CYRILLIC_A}pple.example")


@pytest.mark.parametrize("label", ["xn--", "xn--a", "xn--99999999", "xn--0", "xn--a-ecp\uff0e"])
def test_punycode_that_says_nothing_is_left_as_it_is(label: str) -> None:
    host = read_host(f"{label}.example")
    assert host is None or host.written.endswith(".example")


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("127.0.0.1", "this machine"),
        ("0.0.0.0", "this machine"),
        ("[::1]", "this machine"),
        ("[::ffff:127.0.0.1]", "this machine"),
        ("localhost", "this machine"),
        ("a.localhost.", "this machine"),
        ("169.254.169.254", "the network link of this machine"),
        ("10.0.0.1", "a private or reserved network"),
        ("192.168.1.1", "a private or reserved network"),
        ("[fd00::1]", "a private or reserved network"),
        ("printer.local", "the local network"),
        ("intranet", "the local network"),
        ("8.8.8.8", ""),
        ("a.example", ""),
    ],
)
def test_hosts_that_are_not_public_are_remarked(host: str, place: str) -> None:
    read = read_host(host)
    assert read is not None
    assert read.place == place


addresses = st.one_of(
    st.text(),
    st.builds(
        str.__add__,
        st.sampled_from(["http://", "https://", "http:", "mailto:", "HTTPS://u@", "mailto:a@"]),
        st.text(
            alphabet=st.one_of(st.characters(), st.sampled_from("ab.@:/?#%[]\\0x9,&=xn-\u0430"))
        ),
    ),
)


@given(addresses)
def test_anything_is_refused_in_a_sentence_or_comes_out_in_plain_ascii(address: str) -> None:
    read = read_link(address)
    if isinstance(read, LinkRefusal):
        assert read.reason.endswith(".")
        assert read.reason.isprintable()
        return
    assert read.address.isascii()
    assert read.address.isprintable()
    assert " " not in read.address
    assert read.address.startswith(("http://", "https://", "mailto:"))
    assert read_link(read.address) == read
    assert all(host.ascii in read.address for host in read.hosts)


@given(addresses)
def test_other_readers_find_the_host_that_is_shown(address: str) -> None:
    read = read_link(address)
    if isinstance(read, LinkRefusal) or read.scheme == "mailto":
        return
    shown = read.hosts[0].ascii.strip("[]")
    split = urlsplit(read.address)
    assert (split.hostname, split.port) == (shown, read.port)
    if "xn--" not in shown:  # httpx gives such a name with its letters, or refuses it
        assert httpx.URL(read.address).host == shown
