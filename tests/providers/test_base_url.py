"""Every way to write an address gives the URL that is meant."""

import ipaddress
from contextlib import suppress

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ollm_tui.config import urls
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.base_url import (
    is_loopback,
    join,
    ollama_url,
    openai_url,
    server_root,
    shown_address,
)
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import Transport


def test_without_an_address_ollama_is_asked_where_it_usually_is() -> None:
    assert ollama_url(None) == "http://127.0.0.1:11434"


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/chat/completions", "http://localhost:8000/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("https://x.example/v1beta/openai", "https://x.example/v1beta/openai"),
        ("https://x.example/api/paas/v4", "https://x.example/api/paas/v4"),
        ("https://x.example/proxy", "https://x.example/proxy/v1"),
        ("https://x.example/v1?api-version=2", "https://x.example/v1?api-version=2"),
        ("https://x.example/d/gpt?api-version=2", "https://x.example/d/gpt?api-version=2"),
        ("https://x.example/d?key=k", "https://x.example/d/v1?key=k"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        (" 'http://a' ", "http://a/v1"),
        ("https://v1.example.com", "https://v1.example.com/v1"),
    ],
)
def test_a_version_is_added_only_where_the_path_has_none(value: str, url: str) -> None:
    assert openai_url(value) == url


@pytest.mark.parametrize(
    "value", ["", "ftp://x", "http://", "http://a:99999", "http://[::1", "file:///x"]
)
def test_what_is_no_address_is_refused_in_words(value: str) -> None:
    with pytest.raises(AIError, match="not usable"):
        openai_url(value)


def test_paths_are_joined_before_the_query() -> None:
    assert join("https://x/v1?a=b", "/models") == "https://x/v1/models?a=b"
    assert server_root("https://x/api/v1") == "https://x/api"


def test_addresses_are_shown_without_secrets_and_needless_parts() -> None:
    assert shown_address("http://127.0.0.1:11434") == "localhost:11434"
    assert shown_address("https://me:secret@x.example/v1") == "x.example"
    assert shown_address("http://[2001:db8::1]:80/") == "[2001:db8::1]"


def test_this_machine_is_known_by_all_its_names() -> None:
    names = (
        *("localhost", "LOCALHOST", "localhost.", "a.localhost"),
        *("127.0.0.1", "127.0.0.1.", "127.9.9.9", "127.1", "0x7f.1", "2130706433"),
        *("[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    )
    assert [name for name in names if not is_loopback(f"http://{name}:1")] == []
    others = (
        *("localhost.evil.com", "notlocalhost", "localhost..", "127.0.0.1.evil.com", "x"),
        *("10.0.0.1", "10.1", "1", "[::ffff:10.0.0.1]", "[2001:db8::1]"),
    )
    assert [name for name in others if is_loopback(f"http://{name}")] == []


@given(st.text(max_size=40))
def test_any_host_setting_gives_a_url_or_a_sentence(value: str) -> None:
    for read in (ollama_url, openai_url):
        with suppress(AIError):
            assert read(value).startswith("http")


SIGNS = st.text(
    st.sampled_from("abz019.:/@?#[]%\\_-&=~ \u3002\uff0f\u00fc\u00df\u200b\t") | st.characters(),
    max_size=20,
)


@given(SIGNS, st.sampled_from(["", "http://", "https://", "HTTP://"]))
@example("0", "http://")
def test_the_server_that_a_key_is_bound_to_is_the_one_that_is_asked(text: str, scheme: str) -> None:
    for read in (urls.ollama_url, urls.server_url):
        try:
            url = read(scheme + text)
        except ValueError:
            continue
        spec = ProviderSpec(name="p", kind="ollama", base_url=url)
        transport = Transport(spec, openai_url(url), Endpoint("p", "P", "", ""), {})
        asked = httpx.URL(transport.url)
        name = f"[{asked.host}]" if ":" in asked.host else asked.raw_host.decode()
        port = f":{asked.port}" if asked.port else ""
        assert urls.url_origin(url) == f"{asked.scheme}://{name}{port}"
        assert not asked.userinfo
        assert not asked.query


@given(
    st.integers(0, 2**32 - 1) | st.integers(127 * 2**24, 128 * 2**24 - 1),
    st.sampled_from(["{}", "{}.", "[::ffff:{}]"]),
)
def test_the_whole_network_of_this_machine_is_this_machine(number: int, form: str) -> None:
    host = form.format(ipaddress.IPv4Address(number))
    assert is_loopback(f"http://{host}:8080/v1") == (number >> 24 == 127)
