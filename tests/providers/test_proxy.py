"""Proxies: whose is taken, what it gets to see, and what is said when it does not help."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.config.reference import config_rows
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.providers.proxy import environment_proxy, proxy_for
from ollm_tui.runtime.provider_set import provider_spec
from tests.config.conftest import Load, load, paths, write  # noqa: F401 -- fixtures
from tests.providers.asking import CANARY, ask, closed_port, error_of, spec_for
from tests.providers.certificates import make_authority
from tests.providers.proxy import serve_proxy
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import serve

PASSWORD = "canary-proxy-42"


async def test_a_plain_server_is_asked_in_absolute_form() -> None:
    async with serve(fake_ollama) as server, serve_proxy({"llm.example:80": server.port}) as proxy:
        events = await ask(spec_for("http://llm.example", proxy=proxy.url, api_key=CANARY))
    assert isinstance(events[-1], Finish)
    assert proxy.heads[0].startswith("POST http://llm.example/api/chat HTTP/1.1")
    assert server.received[0].path == "/api/chat"


async def test_a_server_with_tls_is_asked_through_a_tunnel_that_sees_nothing(
    tmp_path: Path,
) -> None:
    authority = make_authority(tmp_path)
    async with (
        serve(fake_ollama, tls=authority.server("llm.example")) as server,
        serve_proxy({"llm.example:443": server.port}) as proxy,
    ):
        spec = spec_for("https://llm.example", proxy=proxy.url, api_key=CANARY)
        events = await ask(spec_for("https://llm.example", proxy=proxy.url, ca_file=authority.file))
        refused = await error_of(spec)
    assert isinstance(events[-1], Finish)
    assert proxy.asked == ["CONNECT llm.example:443"] * 2
    assert CANARY not in "".join(proxy.heads)
    assert refused.message.startswith("No secure connection to llm.example: ")
    assert len(server.received) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_environment_s_proxy_is_taken_and_a_setting_wins_over_it(
    scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = make_authority(tmp_path)
    tls = authority.server("llm.example") if scheme == "https" else None
    place = f"llm.example:{443 if tls else 80}"
    async with (
        serve(fake_ollama, tls=tls) as server,
        serve_proxy({place: server.port}) as of_environment,
        serve_proxy({place: server.port}) as of_settings,
    ):
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", of_environment.url)
        url, file = f"{scheme}://llm.example", authority.file
        await ask(spec_for(url, ca_file=file))
        await ask(spec_for(url, ca_file=file, proxy=of_settings.url))
        monkeypatch.setenv("NO_PROXY", "llm.example")
        await ask(spec_for(url, ca_file=file, proxy=of_settings.url))
    assert (len(of_environment.asked), len(of_settings.asked)) == (1, 2)
    assert proxy_for(url, None, "p") is None, "NO_PROXY is about the environment's proxy"


LOOPBACK = [
    "localhost",
    "localhost.",
    "LOCALHOST",
    "x.localhost",
    "127.0.0.1",
    "127.0.0.1.",
    "127.8.9.10",
    "127.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
]


@pytest.mark.parametrize("host", LOOPBACK)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("setting", [None, "http://127.0.0.1:1", "none"])
def test_this_machine_has_no_proxy_however_it_is_called(
    host: str, scheme: str, setting: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert proxy_for(f"{scheme}://{host}:8080/v1", setting, "p") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"])
async def test_this_machine_is_asked_directly_past_a_proxy_that_listens(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(fake_ollama) as server, serve_proxy({}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        for setting in (None, proxy.url):
            events = await ask(spec_for(f"http://{host}:{server.port}", proxy=setting))
            assert isinstance(events[-1], Finish)
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("url", "no_proxy", "exempt"),
    [
        ("http://llm.example", "llm.example", True),
        ("http://llm.example", "other, llm.example", True),
        ("http://llm.example", "example", True),
        ("http://llm.example", ".example", True),
        ("http://llm.example", "*.example", True),
        ("http://llm.example", "LLM.Example.", True),
        ("http://llm.example.", "llm.example", True),
        ("http://llm.example", "lm.example", False),
        ("http://llm.example", "llm.example.org", False),
        ("http://llm.example", "*", True),
        ("http://llm.example", "", False),
        ("http://llm.example", " , ", False),
        ("http://llm.example:8080", "llm.example:8080", True),
        ("http://llm.example:8080", "llm.example:80", False),
        ("http://llm.example", "llm.example:80", True),
        ("http://10.1.2.3", "10.0.0.0/8", True),
        ("http://10.1.2.3", "10.1.2.3", True),
        ("http://10.1.2.3:99", "10.1.2.3:99", True),
        ("http://11.1.2.3", "10.0.0.0/8", False),
        ("http://[2001:db8::1]", "2001:db8::/32", True),
        ("http://[2001:db8::1]", "[2001:db8::1]", True),
        ("http://[2001:db8::1]", "10.0.0.0/8", False),
    ],
)
def test_no_proxy_lists_names_networks_and_ports(url: str, no_proxy: str, *, exempt: bool) -> None:
    found = environment_proxy(url, {"http": "http://proxy.example:3128", "no": no_proxy})
    assert (found is None) == exempt


@pytest.mark.parametrize(
    ("url", "proxies", "taken"),
    [
        ("http://a.example", {"http": "proxy:1"}, "http://proxy:1"),
        ("http://a.example", {"https": "http://proxy:1"}, None),
        ("https://a.example", {"https": "http://proxy:1", "http": "x"}, "http://proxy:1"),
        ("https://a.example", {"all": "http://proxy:1"}, "http://proxy:1"),
        ("https://a.example", {}, None),
    ],
)
def test_each_scheme_has_its_own_variable(
    url: str, proxies: Mapping[str, str], taken: str | None
) -> None:
    assert environment_proxy(url, proxies) == taken


@pytest.mark.parametrize(
    "value", ["socks5://proxy:1080", "http://", "http://proxy:99999", "ftp://x"]
)
async def test_a_variable_that_names_no_usable_proxy_is_a_sentence(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    error = await error_of(spec_for("http://llm.example"))
    assert error.message == "The proxy that the environment names is not usable."
    assert '`proxy = "none"` below [providers.p]' in (error.hint or "")
    assert error.code == ErrorCode.BAD_REQUEST
    async with serve(fake_ollama) as server:
        assert isinstance((await ask(spec_for(server.url)))[-1], Finish)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_is_named_and_not_the_server(scheme: str) -> None:
    port = closed_port()
    url = f"http://me:{PASSWORD}@127.0.0.1:{port}"
    error = await error_of(spec_for(f"{scheme}://llm.example", proxy=url))
    assert error.message == f"The proxy at localhost:{port} does not answer."
    assert "`proxy` below [providers.p]" in (error.hint or "")
    assert PASSWORD not in f"{error!r}{error}{error.details}"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_gets_its_own_name_and_password_and_the_server_does_not(
    scheme: str, tmp_path: Path
) -> None:
    authority = make_authority(tmp_path)
    tls = authority.server("llm.example") if scheme == "https" else None
    place = f"llm.example:{443 if tls else 80}"
    wanted = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    async with (
        serve(fake_ollama, tls=tls) as server,
        serve_proxy({place: server.port}, authorization=wanted) as proxy,
    ):
        url, file = f"{scheme}://llm.example", authority.file
        known = proxy.url.replace("://", f"://me:{PASSWORD}@")
        events = await ask(spec_for(url, ca_file=file, proxy=known))
        error = await error_of(spec_for(url, ca_file=file, proxy=proxy.url))
        wrong = await error_of(
            spec_for(url, ca_file=file, proxy=known.replace("me:", "you:"), api_key=CANARY)
        )
    assert isinstance(events[-1], Finish)
    assert len(server.received) == 1
    assert "proxy-authorization" not in server.received[0].headers
    shown = proxy.url.removeprefix("http://").replace("127.0.0.1", "localhost")
    for failure in (error, wrong):
        assert failure.message == f"The proxy at {shown} requires a user name and a password."
        assert PASSWORD not in f"{failure!r}{failure}{failure.details}"


async def test_a_proxy_that_refuses_a_tunnel_is_reported_as_such() -> None:
    refusal = b"HTTP/1.1 403 Not that one\r\ncontent-length: 0\r\n\r\n"
    async with serve_proxy({}, refusal=refusal) as proxy:
        error = await error_of(spec_for("https://llm.example", proxy=proxy.url))
    shown = proxy.url.removeprefix("http://").replace("127.0.0.1", "localhost")
    assert error.message == f"The proxy at {shown} does not allow connections to llm.example."


def test_the_setting_is_read_closed_when_wrong_and_shown_without_its_password(
    load: Load,  # noqa: F811 -- the fixture
) -> None:
    table = '[providers.work]\nbase_url = "https://llm.example"\nproxy = '
    loaded = load(f'{table}"proxy.example:3128"\n')
    assert provider_spec("work", loaded.config.providers["work"]).proxy == (
        "http://proxy.example:3128"
    )
    known = load(f'{table}"http://me:{PASSWORD}@proxy.example:3128"\n')
    (shown,) = (row.value for row in config_rows(known) if row.key.endswith("proxy"))
    assert shown == "http://«set»@proxy.example:3128"
    assert PASSWORD not in repr(known)
    assert load(f'{table}"NONE"\n').config.providers["work"].proxy == "none"
    bad = load(f'{table}"socks5://me:{PASSWORD}@x"\n')
    assert bad.config.providers["work"].problem is not None
    assert PASSWORD not in str(bad.all_problems)


def test_an_error_about_the_environment_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"socks5://me:{PASSWORD}@x:1")
    with pytest.raises(AIError) as caught:
        proxy_for("https://llm.example", None, "p")
    assert PASSWORD not in f"{caught.value!r}{caught.value}"
