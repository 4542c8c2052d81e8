"""A sign-in to an MCP server from the app: in the background, shown, given up or finished."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from textual.events import Paste

from ollm_tui.config.flags import Flags
from ollm_tui.frontend import consent
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.tui.dialogs.approve_request import ApproveRequest
from tests.support.oauth_server import GuardedServer, guarded_server
from tests.tui.screens import RealStage, staged_for_real

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/authorize\?\S+")


@pytest.fixture(autouse=True)
def no_open_descriptors() -> None:
    """Count none here: the server in this process closes its connections when it likes."""


@pytest.fixture(autouse=True)
def answers_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "ARMED_AFTER_S", 0.0)
    monkeypatch.setattr(consent, "HELD_S", 0.0)


@pytest.fixture
def guarded() -> Iterator[GuardedServer]:
    with guarded_server() as server:
        yield server


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []

    async def note(_opener: SystemOpener, address: str) -> str | None:
        addresses.append(address)
        return "Links cannot be opened from a remote session."

    monkeypatch.setattr(SystemOpener, "open", note)
    return addresses


@asynccontextmanager
async def with_guarded(
    folder: Path, guarded: GuardedServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RealStage]:
    for name in ("work", "config"):
        (folder / name).mkdir()
    monkeypatch.chdir(folder / "work")
    settings = f"[mcp_servers.work]\nurl = '{guarded.url}'\n"
    (folder / "config" / "config.toml").write_text(settings)
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(folder, environ, Flags(), size=(100, 30)) as stage:
        await stage.until("It needs you to sign in", "login work in the app.", within_s=15)
        yield stage


async def answer(stage: RealStage, key: str) -> None:
    """Press the key until it counts."""
    question = "Open the sign-in to the MCP server work?"
    await stage.until(question, within_s=15)
    with anyio.fail_after(15):
        while question in stage.screen_text:
            if isinstance(stage.app.screen, ApproveRequest):
                await stage.pilot.press(key)
            await stage.pilot.pause(0.05)


def notes(stage: RealStage) -> str:
    blocks = stage.chat.transcript.block_list.blocks
    return "\n".join(block.source.text for block in blocks)


async def test_a_sign_in_is_asked_about_shown_and_finished_by_a_paste(
    tmp_path: Path,
    guarded: GuardedServer,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with with_guarded(tmp_path, guarded, monkeypatch) as stage:
        assert stage.runtime.mcp is not None
        server = stage.runtime.mcp.all["work"]
        await stage.send("/mcp login work")
        await stage.until("Open the sign-in to the MCP server work?", "127.0.0.1", "y open it")
        assert opened == []  # nothing opens before a yes
        await answer(stage, "y")
        await stage.until("cannot be opened from a remote session", "paste the address")
        (address,) = opened
        assert address in notes(stage)
        async with httpx2.AsyncClient(trust_env=False) as browser:
            ended = (await browser.get(address)).headers["location"]
        await stage.send("/mcp work login")  # once more
        await stage.until("The sign-in to work waits for the browser")
        await stage.pilot.press(*"nonsense", "enter")
        await stage.until("This is not the address where the sign-in ended.")
        await stage.send("/mcp login work")
        await stage.until("The sign-in to work waits for the browser")
        assert stage.app.focused is not None
        stage.app.focused.post_message(Paste(ended))
        await stage.pilot.press("enter")
        await stage.until("Signed in to work: it restarts.")
        await stage.until(test=lambda: server.state == "ready")
        assert ended not in notes(stage)
        await stage.send("/mcp logout work")
        await stage.until("Signed out of work")
        await stage.until(test=lambda: server.needs_sign_in)


async def test_a_no_only_shows_the_address_and_a_sign_in_is_given_up(
    tmp_path: Path,
    guarded: GuardedServer,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with with_guarded(tmp_path, guarded, monkeypatch) as stage:
        await stage.send("/mcp login work")
        await answer(stage, "n")
        await stage.until("Waiting for the browser.")
        found = ADDRESS.search(notes(stage))
        assert found is not None
        await stage.send("/mcp logout work")
        await stage.until("The sign-in to work is cancelled.")
        with pytest.raises(httpx2.TransportError):  # nobody listens any more
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as browser:
                await browser.get(found[0])
        await stage.send("/mcp logout work")
        await stage.until("You are not signed in to work.")
        await stage.send("/mcp login work")
        await answer(stage, "n")
        await stage.until(test=lambda: len(ADDRESS.findall(notes(stage))) > 1)
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as browser:
            page = await browser.get(ADDRESS.findall(notes(stage))[-1])
        assert "go back to ollm" in page.text
        await stage.until("Signed in to work: it restarts.")
    assert opened == []
