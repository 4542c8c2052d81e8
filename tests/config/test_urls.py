"""Addresses: the table of Ollama's own rules, and where other servers differ."""

from urllib.parse import urlsplit

import pytest

from ollm_tui.config.urls import ollama_url, server_url, shown_url, url_origin
from tests.support.corpus import Case, case_id, load_cases, needs_corpus

OLLAMA_TABLE = [
    ("", "http://127.0.0.1:11434"),
    ("1.2.3.4", "http://1.2.3.4:11434"),
    (":1234", "http://127.0.0.1:1234"),
    ("1.2.3.4:1234", "http://1.2.3.4:1234"),
    ("example.com", "http://example.com:11434"),
    ("http://host", "http://host"),
    ("http://host:80", "http://host"),
    ("https://host", "https://host"),
    ("https://host:11434", "https://host:11434"),
    ("[::1]", "http://[::1]:11434"),
    ("::1", "http://[::1]:11434"),
    ("[::]", "http://[::1]:11434"),
    ("[::]:5000", "http://[::1]:5000"),
    ("0.0.0.0", "http://127.0.0.1:11434"),
    ("0.0.0.0:80", "http://127.0.0.1"),
    (":66000", "http://127.0.0.1:11434"),
    (":-1", "http://127.0.0.1:11434"),
    ("host:x", "http://host:11434"),
    ("  1.2.3.4  ", "http://1.2.3.4:11434"),
    ('"1.2.3.4"', "http://1.2.3.4:11434"),
    ("'1.2.3.4'", "http://1.2.3.4:11434"),
    ("https://example.com/ollama", "https://example.com/ollama"),
    ("https://example.com/ollama/", "https://example.com/ollama"),
    ("example.com/", "http://example.com:11434"),
    ("ollama.com", "https://ollama.com"),
]


@pytest.mark.parametrize(("text", "url"), OLLAMA_TABLE)
def test_ollama_host_means_what_it_means_to_ollama(text: str, url: str) -> None:
    assert ollama_url(text) == url


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (":66000", "A port is a number"),
        (":-1", "A port is a number"),
        ("host:x", "A port is a number"),
        ("8080", "colon in front"),
        ("", "names no server"),
        (":", "names no server"),
        ("http://", "names no server"),
    ],
)
def test_only_the_variable_of_ollama_takes_what_is_missing_for_the_usual(
    text: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        ollama_url(text, lenient=False)
    assert ollama_url(text).startswith("http://")


@needs_corpus
@pytest.mark.parametrize("case", load_cases("hosts"), ids=case_id)
def test_recorded_settings_are_dialled_where_ollama_listens(case: Case) -> None:
    meant = urlsplit(case["expected"])
    host = {None: "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(
        meant.hostname, meant.hostname
    )
    standard = {"http": 80, "https": 443}[meant.scheme]
    read = urlsplit(ollama_url(case["value"]))
    assert (read.scheme, read.hostname, read.path) == (meant.scheme, host, meant.path)
    # Nobody can be reached at port 0, so the usual one counts.
    assert (read.port or standard) == (meant.port or 11434)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("gpu", "http://gpu:8000"),
        ("gpu:9000", "http://gpu:9000"),
        ("http://gpu/v1", "http://gpu/v1"),
        ("HTTPS://gpu:8443/v1/", "https://gpu:8443/v1"),
        ("http://me:pw@gpu:1/v1", "http://me:pw@gpu:1/v1"),
        ("http://GPU.Example.:1/V1", "http://gpu.example.:1/V1"),
        ("http://b\u00fccher.example", "http://xn--bcher-kva.example"),
        ("https://x.example/openai?api-version=1", "https://x.example/openai?api-version=1"),
        ("gpu?a=1&b=/c@d", "http://gpu:8000?a=1&b=/c@d"),
    ],
)
def test_a_server_s_address_gets_its_default_port_only_without_a_scheme(
    text: str, url: str
) -> None:
    assert server_url(text, 8000) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://x",
        "gpu:99999",
        "gpu:0",
        "gpu:a",
        "http://a b",
        "http://a#key=sk-1",
        "http://a\\@b/sk-1",
        "http://good.example\uff0fsk-1@evil.example\uff0f",
        "http://a\u2028b/sk-1",
        "http://sk-1=1",
        "http://me:sk-1[@gpu",
        "http://m\u00fc:sk-1@gpu",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z][^\n]*\.$") as caught:
        server_url(text)
    assert "sk-1" not in str(caught.value)


def test_name_and_password_are_not_shown_and_do_not_count_for_the_origin() -> None:
    assert shown_url("http://me:pw@gpu:1/v1") == "http://«set»@gpu:1/v1"
    assert shown_url("http://gpu?api-version=1&code=sk/1") == (
        "http://gpu?api-version=1&code=«set»"
    )
    assert url_origin("http://gpu?code=/a@b") == "http://gpu"
    assert url_origin("http://me:pw@GPU:1/v1") == url_origin("http://gpu:1/other")
