"""Certificates that are right, wrong, old and of unknown authorities, on real servers with TLS."""

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.ports import SupportsList
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.signals import AbortSignal
from tests.providers.asking import ASK, CANARY, ask, connected, error_of, spec_for
from tests.providers.certificates import Authority, make_authority
from tests.support.fake_ollama import fake_ollama
from tests.support.guarded.fair_clock import wait
from tests.support.http_server import keep_open, raw_server, serve

KEY = CANARY


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


async def test_a_server_of_the_named_authority_is_trusted(authority: Authority) -> None:
    async with serve(fake_ollama, tls=authority.server("127.0.0.1")) as server:
        events = await ask(spec_for(server.url, ca_file=authority.file, api_key=KEY))
    assert isinstance(events[-1], Finish)
    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"


async def test_authorities_are_read_once_and_not_by_the_event_loop(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(cadata: str) -> ssl.SSLContext:
        readers.append(threading.get_ident())
        return real(cadata=cadata)

    readers: list[int] = []
    real = ssl.create_default_context
    monkeypatch.setattr("ssl.create_default_context", load)
    async with serve(fake_ollama, tls=authority.server("127.0.0.1")) as server:
        spec = spec_for(server.url, ca_file=authority.file)
        async with connected(spec) as provider, anyio.create_task_group() as group:
            assert isinstance(provider, SupportsList)
            for _ in range(3):
                group.start_soon(provider.list_models)
    assert len(readers) == 1
    assert readers != [threading.get_ident()]
    assert len(server.received) >= 3


async def test_a_folder_of_authorities_that_does_not_answer_delays_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(cafile: Path, _most: int) -> bytes:
        began.set()
        wait(disk, 10)
        raise OSError(cafile)

    began, disk, signal = threading.Event(), threading.Event(), AbortSignal()
    monkeypatch.setattr("ollm_tui.providers.client.read_bounded", load)
    url, file = "https://127.0.0.1:9", tmp_path / "ca.pem"
    asked = spec_for(url, "openai-compatible", ca_file=file)
    try:
        with anyio.fail_after(5):
            error = await error_of(spec_for(url, ca_file=file, first_byte_timeout_s=0.1))
            began.clear()
            async with (
                connected(asked) as provider,
                provider.chat_stream(replace(ASK, signal=signal)) as stream,
                anyio.create_task_group() as group,
            ):
                group.start_soon(abort_when, began, signal)
                events = [event async for event in stream]
    finally:
        disk.set()
    assert error.code == ErrorCode.TIMEOUT
    (end,) = events
    assert isinstance(end, Finish)
    assert end.reason == "abort"


async def abort_when(began: threading.Event, signal: AbortSignal) -> None:
    while not began.is_set():
        await anyio.lowlevel.checkpoint()
    signal.abort()


@dataclass(frozen=True)
class Bad:
    """A certificate that is refused, and the sentence about it."""

    make: Callable[[Authority], ssl.SSLContext]
    reason: str
    next_step: str
    trusted: bool = True


BAD = {
    "unknown authority": Bad(
        lambda ca: ca.server("127.0.0.1"),
        "unable to get local issuer certificate",
        "for a server with its own authority set ca_file",
        trusted=False,
    ),
    "expired": Bad(
        lambda ca: ca.expired("127.0.0.1"),
        "certificate has expired",
        "The server needs a new certificate; check the clock",
    ),
    "not yet valid": Bad(
        lambda ca: ca.too_early("127.0.0.1"),
        "certificate is not yet valid",
        "The server needs a new certificate; check the clock",
    ),
    "another address": Bad(
        lambda ca: ca.server("10.0.0.1"),
        "IP address mismatch, certificate is not valid for '127.0.0.1'",
        "Write the name that the certificate is made for into base_url.",
    ),
    "another name": Bad(
        lambda ca: ca.server("llm.example"),
        "certificate is not valid for '127.0.0.1'",
        "Write the name that the certificate is made for into base_url.",
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_certificate_is_refused_in_one_sentence_and_gets_no_key(
    name: str, authority: Authority
) -> None:
    bad = BAD[name]
    async with serve(fake_ollama, tls=bad.make(authority)) as server:
        trusted = authority.file if bad.trusted else None
        error = await error_of(spec_for(server.url, ca_file=trusted, api_key=KEY))
    assert error.message.startswith(f"No secure connection to localhost:{server.port}: ")
    assert bad.reason in error.message
    assert error.message.count(".") == 1 or "127.0.0.1" in error.message
    assert not error.message.endswith("..")
    assert bad.next_step in (error.hint or "")
    assert (error.details["fault"], error.retryable) == ("tls", False)
    assert server.received == []


async def test_the_wrong_name_is_refused_where_the_right_one_is_served(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of the test mean loopback."""
    monkeypatch.setattr(anyio, "connect_tcp", _to_loopback(anyio.connect_tcp))
    async with serve(fake_ollama, tls=authority.server("llm.example")) as server:
        right = f"https://llm.example:{server.port}"
        events = await ask(spec_for(right, ca_file=authority.file))
        wrong = f"https://other.example:{server.port}"
        error = await error_of(spec_for(wrong, ca_file=authority.file))
    assert isinstance(events[-1], Finish)
    assert error.message == (
        f"No secure connection to other.example:{server.port}: Hostname mismatch, certificate is "
        "not valid for 'other.example'."
    )
    assert len(server.received) == 1


def _to_loopback(connect: Callable[..., object]) -> Callable[..., object]:
    return lambda **asked: connect(**{**asked, "remote_host": "127.0.0.1"})


async def test_the_named_authority_counts_instead_of_the_usual_ones(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    other = make_authority(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with serve(fake_ollama, tls=authority.server("127.0.0.1")) as server:
        usual = await ask(spec_for(server.url))
        error = await error_of(spec_for(server.url, ca_file=other.file))
    assert isinstance(usual[-1], Finish)
    assert error.details["fault"] == "tls"


@pytest.mark.parametrize("text", ["", "no certificate\n"])
async def test_a_file_without_certificates_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.pem"
    file.write_text(text)
    error = await error_of(spec_for("https://127.0.0.1:1", ca_file=file))
    assert error.message == f"The authority file {file} of provider p cannot be read."
    assert error.code == ErrorCode.BAD_REQUEST


async def test_a_server_that_never_shakes_hands_runs_into_the_clock() -> None:
    async with raw_server(keep_open) as port:
        with anyio.fail_after(5):
            error = await error_of(spec_for(f"https://127.0.0.1:{port}", connect_timeout_s=0.2))
    assert error.message == (f"localhost:{port} cannot be reached: it did not respond in time.")
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)


async def test_a_host_that_swallows_connections_runs_into_the_clock() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:  # they fill the queue of who wants to be let in
            one.setblocking(False)
            one.connect_ex(address)
        try:
            with anyio.fail_after(5):
                spec = spec_for(f"http://127.0.0.1:{address[1]}", connect_timeout_s=0.2)
                error = await error_of(spec)
        finally:
            for one in waiting:
                one.close()
    assert error.details["fault"] == "connect_timeout"
