"""A sign-in to a server in lines, and the end of a command in the background: each said once."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.linear.host import LinearSignIns
from ollm_tui.linear.shell_commands import JobNews
from ollm_tui.shell.command import CommandResult
from ollm_tui.shell.jobs import Job
from tests.linear.stage import heard_chat

if TYPE_CHECKING:
    from ollm_tui.frontend.session import ChatSession

ADDRESS = "https://login.example.com/authorize?state=1"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []

    async def note(_opener: SystemOpener, address: str) -> str | None:
        addresses.append(address)
        return "Links cannot be opened from a remote session."

    monkeypatch.setattr(SystemOpener, "open", note)
    return addresses


async def shown(*typed: str | None, right: str = "") -> tuple[list[str], list[str]]:
    """Return what was heard, and what was pasted."""
    chat: Any = heard_chat(*typed)
    pasted: list[str] = []

    def take(address: str) -> bool:
        pasted.append(address)
        return address == right

    await LinearSignIns(chat).show("work\x1b", ADDRESS, take)
    return chat.heard, pasted


async def test_a_key_opens_the_address_and_another_takes_a_paste(opened: list[str]) -> None:
    right = "http://127.0.0.1:1/callback?code=1&state=1"
    heard, pasted = await shown("open", "paste", "wrong", "paste", right, right=right)
    assert heard[0] == f"To sign in to work⟦U+001B⟧, open this address in a browser: {ADDRESS}"
    assert heard[1].startswith("Sign in at login.example.com. o opens it in the browser")
    assert opened == [ADDRESS]
    assert "Links cannot be opened from a remote session." in heard
    assert pasted == ["wrong", right]
    assert "This is not the address where the sign-in ended." in heard


async def test_escape_opens_nothing(opened: list[str]) -> None:
    heard, pasted = await shown(None)
    assert len(heard) == 2
    assert (opened, pasted) == ([], [])


def test_the_end_of_a_command_in_the_background_is_said_once() -> None:
    job, other = Job(1, "make", 60.0), Job(2, "serve", 60.0)
    jobs = SimpleNamespace(listed=(job, other))
    session = cast("ChatSession", SimpleNamespace(client=SimpleNamespace(jobs=jobs)))
    heard: list[str] = []
    news = JobNews(session, heard.append)
    news.look()
    assert heard == []
    job.result = CommandResult("make", "", "exited", 2, 0, 1.0, 60.0)
    news.look()
    news.look()
    assert heard == [f"The command 1 in the background has ended. {job.words}"]
    session.client.jobs = cast("Any", SimpleNamespace(listed=()))  # another chat
    news.look()
    assert len(heard) == 1
