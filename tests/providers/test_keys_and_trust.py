"""Whom a key, a redirect, a proxy and a certificate may be trusted with."""

import base64
import logging
import re
import ssl
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSListener

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import SupportsList, SupportsTokenCount
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.providers import create_provider
from tests.providers.asking import (
    ASK,
    CANARY,
    KINDS,
    ask,
    closed_port,
    connected,
    error_of,
    spec_for,
)
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.fakes import FAKES
from tests.support.http_server import Received, Reply, serve


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "server.pem"
    command = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext"
    subprocess.run(
        [
            *("openssl", *command.split(), "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(path.with_suffix(".key")), "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    return path


async def test_an_unknown_certificate_is_refused_and_a_named_authority_is_trusted(
    certificate: Path,
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))

    async def connection(stream: ByteStream) -> None:
        async with stream:
            await stream.receive()
            line = b'{"message":{"content":"ok"},"done":true,"done_reason":"stop"}\n'
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(line) + line)

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with (
        TLSListener(tcp, context, standard_compatible=False) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, connection)
        port = tcp.extra(SocketAttribute.local_port)
        url = f"https://127.0.0.1:{port}"
        error = await error_of(spec_for(url))
        events = await ask(spec_for(url, ca_file=certificate))
        plain = await error_of(spec_for(f"http://127.0.0.1:{port}"))
        group.cancel_scope.cancel()
    assert re.search(
        r"No secure connection to localhost:\d+: self.signed certificate", error.message
    )
    assert "ca_file" in (error.hint or "")
    assert events[0] == TextDelta("ok")
    assert plain.code == ErrorCode.SERVICE_UNAVAILABLE


async def test_tls_spoken_to_a_plain_server_is_reported_with_the_way_out() -> None:
    async with serve(fake_ollama) as server:
        error = await error_of(spec_for(server.url.replace("http:", "https:")))
    assert "No secure connection" in error.message
    assert "http://" in (error.hint or "")


def test_an_authority_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async def run() -> AIError:
        return await error_of(spec_for("https://127.0.0.1:1", ca_file=tmp_path / "no.pem"))

    assert "no.pem" in anyio.run(run).message


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_never_follows_a_redirect(kind: str) -> None:
    async def elsewhere(request: Received, reply: Reply) -> None:
        await reply.json({})

    async with serve(elsewhere) as thief:

        async def sends_away(request: Received, reply: Reply) -> None:
            await reply.whole(b"", 307, headers={"location": f"{thief.url}/steal"})

        async with serve(sends_away) as server:
            error = await error_of(spec_for(server.url, kind, api_key=CANARY))
            async with connected(spec_for(server.url, kind, api_key=CANARY)) as provider:
                assert isinstance(provider, SupportsList)
                with suppress(AIError):
                    assert await provider.list_models() == []
                if isinstance(provider, SupportsTokenCount):
                    with pytest.raises(AIError, match="/steal"):
                        await provider.count_tokens(ASK)
    assert "/steal" in error.message
    assert thief.received == []
    assert all(key_sent(request) == CANARY for request in server.received)


def key_sent(request: Received) -> str | None:
    headers = request.headers
    return headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("kind", KINDS)
async def test_this_machine_is_never_asked_through_a_proxy(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = FAKES[kind]
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    async with serve(handler) as server:
        events = await ask(spec_for(server.url, kind))
    assert isinstance(events[-1], Finish)


async def test_other_machines_are_asked_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve(fake_ollama) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await ask(spec_for("http://models.example:8080"))
    assert proxy.received[0].path == "http://models.example:8080/api/chat"


@pytest.mark.parametrize("kind", KINDS)
async def test_keys_show_in_no_message_repr_or_log(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def echoes(request: Received, reply: Reply) -> None:
        reason = f"bad key: {key_sent(request)}"
        await reply.json({"error": {"message": reason}}, 401)

    caplog.set_level(logging.DEBUG)
    async with serve(echoes) as server:
        spec = spec_for(server.url, kind, api_key=CANARY, headers={"x-other": CANARY + "9"})
        error = await error_of(spec)
        refused = await error_of(spec_for(f"http://me:{CANARY}@127.0.0.1:1", kind))
    in_address = replace(spec, base_url=f"http://me:{CANARY}@127.0.0.1:1")
    shown = f"{spec!r} {in_address!r} {error} {error!r} {error.details} {refused} {refused!r}"
    shown += caplog.text
    assert "canary" not in shown
    assert server.received[0].headers["x-other"] == CANARY + "9"


async def test_a_name_and_password_in_the_address_are_sent_as_they_are_meant() -> None:
    async with serve(fake_ollama) as server:
        await ask(spec_for(server.url.replace("://", "://m%40e:p%3Aw@"), "ollama"))
    sent = server.received[0].headers["authorization"].removeprefix("Basic ")
    assert base64.b64decode(sent) == b"m@e:p:w"


@pytest.mark.parametrize("key", ["sk-\nX-Evil: 1", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(AIError) as caught:
        create_provider(spec_for("http://x.example", api_key=key))
    assert key not in str(caught.value)


async def test_lm_studio_gets_its_key_twice_and_others_once() -> None:
    async with serve(FakeOpenAI()) as server:
        await ask(spec_for(server.url, "openai-compatible", api_key="k1", backend="lmstudio"))
        await ask(spec_for(server.url, "openai-compatible", api_key="k1"))
        await ask(spec_for(server.url, "openai-compatible"))
    first, second, third = (request.headers for request in server.received)
    assert (first["authorization"], first["x-api-key"]) == ("Bearer k1", "k1")
    assert (second["authorization"], second.get("x-api-key")) == ("Bearer k1", None)
    assert third.get("authorization") is None
    assert first["accept-encoding"] == "identity"
