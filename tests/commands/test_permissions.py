"""What /permissions lists, allows and takes back."""

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command
from ollm_tui.frontend.consent import Permissions
from tests.commands.recording_host import RecordingHost


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost(permissions=Permissions())


async def answer(host: RecordingHost, text: str) -> tuple[str, ...]:
    call = parse(text, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host.asked[-1]


async def test_all_permissions_are_listed_with_their_scope_and_taken_back(
    host: RecordingHost,
) -> None:
    assert await answer(host, "/permissions") == (
        "info",
        "Every tool call needs approval.\nNo tool is allowed beyond that.",
    )
    host.permissions.grant("write_file", "write")
    assert (await answer(host, "/permissions allow git log *"))[1].startswith(
        "In this chat, git log * runs without asking."
    )
    listed = (await answer(host, "/permissions"))[1].split("\n")
    assert listed[0] == "Every tool call needs approval, except:"
    assert listed[1:3] == ["1  write_file · this chat", "2  shell: git log * · this chat"]
    assert await answer(host, "/permissions revoke 2") == ("info", "Taken back: it asks again.")
    assert not host.permissions.allows("shell", "run")
    assert await answer(host, "/permissions revoke all") == ("info", "Taken back: it asks again.")
    assert await host.permissions.listed() == ()


@pytest.mark.parametrize(
    "typed",
    [
        *("allow", "allow a; b", "allow env *", "allow *", "revoke", "revoke 1", "revoke x"),
        *("everything", "all tools"),
    ],
)
async def test_what_is_not_understood_changes_nothing(host: RecordingHost, typed: str) -> None:
    assert (await answer(host, f"/permissions {typed}"))[0] == "error"
    assert (await host.permissions.listed(), host.permissions.mode) == ((), "ask")


async def test_the_mode_is_chosen_by_its_name(host: RecordingHost) -> None:
    assert "Read-only tools" in (await answer(host, "/permissions reads"))[1]
    assert host.permissions.mode == "reads"
    host.permissions.grant("write_file", "write")
    assert (await answer(host, "/permissions"))[1].startswith(
        "Read-only tools run without asking in this chat. Beyond that:\n1  write_file"
    )
    assert "needs approval" in (await answer(host, "/permissions ask"))[1]
