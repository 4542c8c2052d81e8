"""What was allowed once and further on: by what, where, and until when."""

import json
from pathlib import Path

import pytest

from ollm_tui.frontend.consent import Permissions, can_grant
from ollm_tui.frontend.grants import LASTS_S, FolderGrants, Grant
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.tools import CallPreview
from ollm_tui.shell.words import plain_words

WRITING = CallPreview("Change a.txt", (("diff", "+x"),))
PROTECTED = CallPreview("Change .bashrc", (("diff", "+x"),), may_last=False)


def command(text: str, containment: str = "contained: writes") -> CallPreview:
    return CallPreview(
        "It runs.",
        (("command", text),),
        is_command=True,
        argv=plain_words(text),
        containment=containment,
    )


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def kept(file: Path, folder: str, clock: Clock) -> FolderGrants:
    return FolderGrants(file, Path(folder), clock)


async def test_a_command_is_allowed_by_its_words_and_by_nothing_else() -> None:
    permissions = Permissions()
    permissions.grant("shell", "run", command("git status"))
    assert permissions.allows("shell", "run", command("git  status"))
    for other in ("git status -s", "git log", "git status; x", "env git status", "ls"):
        assert not permissions.allows("shell", "run", command(other))
    assert not permissions.allows("shell", "write", command("git status"))
    assert not permissions.allows("console", "run", command("git status"))
    permissions.allow_commands(("git", "log", "*"))
    assert permissions.allows("shell", "run", command("git log main"))
    assert not permissions.allows("shell", "run", command("git log --output=x"))


async def test_a_word_that_is_an_asterisk_allows_no_other_words() -> None:
    permissions = Permissions()
    quoted = command("git '*'")
    permissions.grant("shell", "run", quoted)
    assert not can_grant(quoted)
    assert not permissions.allows("shell", "run", command("git push origin main"))


async def test_a_command_is_allowed_with_its_containment_alone(tmp_path: Path) -> None:
    permissions = Permissions()
    permissions.folder = kept(tmp_path / "permissions.json", "/srv/notes", Clock())
    permissions.grant("shell", "run", command("make"))
    await permissions.keep("shell", "run", command("make build"))
    await permissions.refresh()
    for text in ("make", "make build"):
        assert permissions.allows("shell", "run", command(text))
        assert not permissions.allows("shell", "run", command(text, "not contained"))
    permissions.allow_commands(("make", "*"))  # what a person typed holds in any case
    assert permissions.allows("shell", "run", command("make", "not contained"))


async def test_a_whole_tool_is_never_allowed_to_run_any_command() -> None:
    permissions = Permissions()
    permissions.grant("shell", "run", command("a; b"))
    permissions.grant("shell", "run")
    assert not permissions.allows("shell", "run", command("a; b"))
    assert not permissions.allows("shell", "run", command("ls"))
    assert not can_grant(command("a; b"))
    assert can_grant(command("ls"))
    assert can_grant(WRITING)
    assert not can_grant(PROTECTED)


async def test_a_tool_of_a_server_that_is_no_command_is_allowed_as_a_whole() -> None:
    permissions, call = Permissions(), CallPreview("It runs.", (("city", "Oslo"),))
    assert can_grant(call)
    permissions.grant("time__now", "run", call)
    other = CallPreview("It runs.", (("city", "Graz"),))
    assert permissions.allows("time__now", "run", other)
    assert not permissions.allows("time__now", "run", CallPreview("", (), may_last=False))


async def test_protected_files_are_asked_about_whatever_is_allowed() -> None:
    permissions = Permissions()
    permissions.mode = "all"
    permissions.grant("write_file", "write", WRITING)
    assert permissions.allows("write_file", "write", WRITING)
    assert not permissions.allows("write_file", "write", PROTECTED)
    assert permissions.allows("shell", "run", command("a; b"))  # the mode says all


async def test_a_permission_for_a_folder_lasts_and_ends(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "state" / "permissions.json"
    permissions = Permissions()
    permissions.folder = kept(file, "/srv/notes", clock)
    await permissions.keep("shell", "run", command("make build"))
    await permissions.keep("write_file", "write", WRITING)
    await permissions.keep("write_file", "write", WRITING)
    assert file.stat().st_mode & 0o777 == 0o600

    other = Permissions()
    other.folder = kept(file, "/srv/notes", clock)
    assert not other.allows("shell", "run", command("make build"))  # nothing was read yet
    await other.refresh()
    assert other.allows("shell", "run", command("make build"))
    assert not other.allows("shell", "run", command("make all"))
    other.forget()
    assert other.allows("write_file", "write", WRITING)
    assert [one.tool for one in await other.listed()] == ["shell", "write_file"]

    elsewhere = Permissions()
    elsewhere.folder = kept(file, "/srv/notes/deep", clock)
    assert await elsewhere.listed() == ()

    clock.now += LASTS_S + 1
    await other.refresh()
    assert not other.allows("write_file", "write", WRITING)


async def test_a_permission_is_taken_back_in_every_window(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "permissions.json"
    one, other = Permissions(), Permissions()
    one.folder = other.folder = kept(file, "/srv/notes", clock)
    one.grant("clock", "read")
    await one.keep("write_file", "write", WRITING)
    here, folder = await one.listed()
    await one.revoke(here)
    assert not one.allows("clock", "read")
    await one.revoke(folder)
    await other.refresh()
    assert not other.allows("write_file", "write", WRITING)
    assert await one.listed() == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{damaged",
        '{"/srv/notes": {}}',
        '{"/srv/notes": [5, {"tool": "write_file"}]}',
        '{"/srv/notes": [{"tool": "write_file", "effect": "write", "until": "never"}]}',
        '{"/srv/notes": [{"tool": "write_file", "effect": "anything", "until": 9e12}]}',
        '{"/srv/notes": [{"tool": "shell", "effect": "run", "words": [], "until": 9e12}]}',
        '{"/srv/notes": [{"tool": "shell", "effect": "run", "words": [5], "until": 9e12}]}',
        '{"/srv/notes": [{"tool": "shell", "effect": "run", "words": ["ls", "*"], "until": 9e12,'
        ' "containment": ""}]}',
        '{"/srv/notes": [{"tool": "shell", "effect": "run", "words": null, "until": 9e12}]}',
        '{"/srv/notes": [{"tool": "write_file", "effect": "write", "until": null}]}',
        '{"/other": [{"tool": "write_file", "effect": "write", "words": null, "until": 9e12}]}',
    ],
)
async def test_what_is_odd_in_the_file_allows_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "permissions.json"
    file.write_text(text)
    permissions = Permissions()
    permissions.folder = kept(file, "/srv/notes", Clock())
    await permissions.refresh()
    assert not permissions.allows("write_file", "write", WRITING)
    assert not permissions.allows("shell", "run", command("ls"))


async def test_a_file_that_cannot_be_written_allows_for_the_chat_and_says_so_later(
    tmp_path: Path,
) -> None:
    file = tmp_path / "taken" / "permissions.json"
    (tmp_path / "taken").write_text("a file in the way")
    permissions = Permissions()
    permissions.folder = kept(file, "/srv/notes", Clock())
    await permissions.keep("write_file", "write", WRITING)
    assert permissions.allows("write_file", "write", WRITING)
    permissions.forget()
    assert not permissions.allows("write_file", "write", WRITING)
    with pytest.raises(AIError, match="cannot be written"):
        permissions.folder.remove(Grant("x", "write"))


def test_other_folders_keep_theirs(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "permissions.json"
    kept(file, "/a", clock).add("x", "write", None)
    kept(file, "/b", clock).add("y", "write", None)
    assert sorted(json.loads(file.read_text())) == ["/a", "/b"]
    assert [one.tool for one in kept(file, "/a", clock).read()] == ["x"]
