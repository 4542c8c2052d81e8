"""Signing in to a server by OAuth: once, in the browser; afterwards tokens are kept and renewed."""

import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from ollm_tui.config.flags import Flags
from ollm_tui.config.keys.stored_keys import StoredKeys
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.tables.mcp_servers import McpOAuthSettings, McpServerSettings
from ollm_tui.mcp.oauth import check_address
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.settings import HttpServer, OAuthClient
from ollm_tui.mcp.signing_in import sign_in
from ollm_tui.mcp.tokens import ServerTokens, tokens_of
from ollm_tui.protocol.errors import AIError
from ollm_tui.tools.define import ToolFailure
from tests.support.oauth_server import Authority, GuardedServer, guarded_server

ADVICE = "It needs you to sign in: `ollm mcp login work` in a shell, or /mcp login work in the app."


@pytest.fixture(autouse=True)
def no_open_descriptors() -> None:
    """Count none here: the server in this process closes its connections when it likes."""


@pytest.fixture(scope="module")
def served() -> Iterator[GuardedServer]:
    with guarded_server() as server:
        yield server


@pytest.fixture
def guarded(served: GuardedServer) -> GuardedServer:
    fresh = Authority()
    vars(served.authority).update(vars(fresh))
    return served


@pytest.fixture
def keys(tmp_path: Path) -> StoredKeys:
    return StoredKeys(tmp_path / "data")


async def agree(address: str, _take: Callable[[str], bool]) -> None:
    """Be the browser of a person who agrees."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        page = await browser.get(address)
    assert "go back to ollm" in page.text


async def signed_in(guarded: GuardedServer, keys: StoredKeys) -> ServerTokens:
    tokens = ServerTokens(keys, "work", guarded.url)
    assert await sign_in(HttpServer(url=guarded.url), tokens, agree)
    return tokens


@asynccontextmanager
async def started(
    guarded: GuardedServer, keys: StoredKeys, oauth: McpOAuthSettings | None = None
) -> AsyncIterator[McpServer]:
    """Run a server until it is ready or has failed."""
    settings = McpServerSettings(url=guarded.url, oauth=oauth or McpOAuthSettings())
    changed = [anyio.Event()]
    server = McpServer("work", "work", settings, lambda: changed[0].set())
    server.tokens = tokens_of(keys, "work", server.address)
    async with anyio.create_task_group() as group:
        group.start_soon(server.run)
        with anyio.fail_after(20):
            while server.state not in {"ready", "failed"}:
                await changed[0].wait()
                changed[0] = anyio.Event()
        yield server
        group.cancel_scope.cancel()


async def add(server: McpServer) -> str:
    definition = server.definition("add")
    assert definition is not None
    return (await server.call(definition, {"left": 2, "right": 40})).content


async def test_a_person_signs_in_once_and_the_tokens_are_kept_where_the_keys_are(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    async with started(guarded, keys) as server:
        assert (server.state, server.needs_sign_in, server.problem) == ("failed", True, ADVICE)
    assert guarded.authority.clients == {}  # nobody was asked, and nothing was registered
    await signed_in(guarded, keys)
    (client,) = guarded.authority.clients.values()
    assert (client.client_name, client.token_endpoint_auth_method) == ("ollm", "none")
    assert keys.path.stat().st_mode & 0o077 == 0
    async with started(guarded, keys) as server:
        assert (server.state, server.needs_sign_in) == ("ready", False)
        assert await add(server) == "42"
    assert guarded.authority.renewed == 0


async def test_a_token_that_has_ended_is_renewed_without_a_question(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    tokens = await signed_in(guarded, keys)
    await tokens.keep({**await tokens.load(), "ends": 1})
    async with started(guarded, keys) as server:
        assert server.state == "ready"
        assert guarded.authority.renewed == 1
        guarded.authority.end_access()  # before its time
        assert await add(server) == "42"
        assert guarded.authority.renewed == 2
    async with started(guarded, keys) as server:  # what was renewed is kept
        assert server.state == "ready"
    assert guarded.authority.renewed == 2


async def test_a_sign_in_that_is_withdrawn_says_so_and_nothing_is_tried_again(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    tokens = await signed_in(guarded, keys)
    async with started(guarded, keys) as server:
        guarded.authority.end_access()
        guarded.authority.renewable.clear()
        with pytest.raises(ToolFailure):
            await add(server)
        with anyio.fail_after(10):
            while server.state != "failed":
                await anyio.sleep(0.01)
        assert (server.needs_sign_in, server.problem) == (True, ADVICE)
    assert len(guarded.authority.clients) == 1
    assert await tokens.remove()
    assert not await tokens.remove()
    assert keys.listed() == []


async def test_a_pasted_address_does_what_the_browser_would(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    taken: list[bool] = []

    async def paste(address: str, take: Callable[[str], bool]) -> None:
        async with httpx2.AsyncClient(trust_env=False) as browser:
            ended = (await browser.get(address)).headers["location"]
        foreign = ended.replace("state=", "state=x")
        taken.extend(map(take, ("", "nonsense", "http://[", foreign, address, f" {ended}\n")))

    tokens = ServerTokens(keys, "work", guarded.url)
    assert await sign_in(HttpServer(url=guarded.url), tokens, paste)
    assert taken == [False, False, False, False, False, True]


async def test_what_the_listener_was_not_waiting_for_ends_nothing(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    seen: list[int] = []

    async def disturb(address: str, take: Callable[[str], bool]) -> None:
        (redirect,) = parse_qs(urlsplit(address).query)["redirect_uri"]
        async with httpx2.AsyncClient(trust_env=False) as other:
            for rest in ("", "?code=evil&state=x", "?state=x", "/favicon.ico"):
                seen.append((await other.get(f"{redirect}{rest}")).status_code)
        await agree(address, take)

    tokens = ServerTokens(keys, "work", guarded.url)
    assert await sign_in(HttpServer(url=guarded.url), tokens, disturb)
    assert seen == [400] * 4


async def test_a_no_is_one_sentence_and_the_sign_in_before_stays(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    tokens = await signed_in(guarded, keys)
    before = await tokens.load()
    guarded.authority.says_yes = False
    with pytest.raises(AIError, match="The sign-in was refused"):
        await sign_in(HttpServer(url=guarded.url), tokens, agree)
    assert await tokens.load() == before


async def test_a_server_that_takes_no_new_clients_is_named(keys: StoredKeys) -> None:
    with guarded_server(Authority(takes_clients=False)) as closed:
        tokens = ServerTokens(keys, "work", closed.url)
        with pytest.raises(AIError, match="does not take ollm as a new client"):
            await sign_in(HttpServer(url=closed.url), tokens, agree)
    with pytest.raises(AIError, match="No answer from its address"):
        await sign_in(HttpServer(url=closed.url), tokens, agree)


async def test_what_a_sign_in_does_not_cover_is_named_and_the_next_one_asks_for_it(
    guarded: GuardedServer, keys: StoredKeys
) -> None:
    await signed_in(guarded, keys)
    guarded.authority.needs = "add"
    async with started(guarded, keys) as server:
        with pytest.raises(ToolFailure) as refused:
            await add(server)
        assert server.state == "ready"  # the rest of it can be used
        assert len(guarded.authority.clients) == 1  # nobody was asked
        guarded.authority.end_access()
        with pytest.raises(ToolFailure):
            await add(server)  # a renewal forgets nothing
    assert str(refused.value) == (
        "The MCP server work refused the call. Your sign-in does not cover that (add): `ollm mcp "
        "login work` in a shell, or /mcp login work in the app, asks for the wider access."
    )
    tokens = await signed_in(guarded, keys)
    assert "lacks" not in await tokens.load()
    async with started(guarded, keys) as server:
        assert await add(server) == "42"
    assert {"use", "add"} <= set([*guarded.authority.access.values()][-1].scopes)


@pytest.mark.parametrize("secret", [None, "hush-123456789"])
async def test_a_client_that_was_registered_before_signs_in_with_its_secret(
    secret: str | None, guarded: GuardedServer, keys: StoredKeys
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    proof = "client_secret_basic" if secret else "none"
    guarded.authority.clients["mine"] = OAuthClientInformationFull(
        client_id="mine",
        client_secret=secret,
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
        token_endpoint_auth_method=proof,
        scope="use",
    )
    tokens = ServerTokens(keys, "work", guarded.url)
    if secret:
        await tokens.keep_client_secret(secret)
    address = HttpServer(url=guarded.url, client=OAuthClient(id="mine"), callback_port=port)
    assert await sign_in(address, tokens, agree)
    assert list(guarded.authority.clients) == ["mine"]
    guarded.authority.end_access()
    async with started(guarded, keys, McpOAuthSettings(client_id="mine")) as server:
        assert await add(server) == "42"
    assert guarded.authority.renewed == 1
    assert "client" not in await tokens.load()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(AIError, match="is used by another program"):
            await sign_in(address, tokens, agree)


async def test_tokens_are_for_one_origin_and_are_no_setting(
    guarded: GuardedServer, keys: StoredKeys, tmp_path: Path
) -> None:
    await signed_in(guarded, keys)
    moved = ServerTokens(keys, "work", guarded.url.replace("127.0.0.1", "localhost"))
    assert await moved.load() == {}
    assert await ServerTokens(keys, "other", guarded.url).load() == {}
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    assert load_config(paths, {}, Flags()).problems == ()
    await anyio.to_thread.run_sync(keys.set, "mcp:work", "http://x", "no json")
    assert await ServerTokens(keys, "work", "http://x/mcp").load() == {}


async def test_no_secret_is_written_but_to_the_keys(
    guarded: GuardedServer, keys: StoredKeys, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.WARNING)  # as the log of the app
    await signed_in(guarded, keys)
    async with started(guarded, keys) as server:
        await add(server)
        guarded.authority.end_access()
        await add(server)
        written = "\n".join([caplog.text, *server.log.tail(10**6), repr(server.address)])
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file != keys.path]
    written += "".join(file.read_text("utf-8", "replace") for file in files)
    assert len(guarded.authority.given) == 5
    assert [secret for secret in guarded.authority.given if secret in written] == []
    assert json.loads(keys.path.read_text())[0]["name"] == "mcp:work"


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        ("https://login.example.com/authorize", True),
        ("https://mcp.example.com:444/x", True),
        ("https://login.example.com/a?b#c", True),
        ("http://login.example.com/authorize", False),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("https://user@login.example.com/", False),
        ("https://127.0.0.1/x", False),
        ("https://2130706433/x", False),
        ("https://0x7f000001/x", False),
        ("https://169.254.169.254/latest", False),
        ("https://[::1]/x", False),
        ("https://10.0.0.8/x", False),
        ("https://localhost/x", False),
        ("https://printer.local/x", False),
        ("not an address", False),
    ],
)
def test_a_server_sends_a_sign_in_nowhere_but_to_safe_addresses(
    address: str, is_safe: bool
) -> None:
    server = "https://mcp.example.com/mcp"
    if is_safe:
        check_address(address, server)
        return
    with pytest.raises(OAuthFlowError, match="not safe"):
        check_address(address, server)
