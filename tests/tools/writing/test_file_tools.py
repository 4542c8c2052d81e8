"""Tools that change files: what is shown is what is written, or nothing is."""

import errno
import os
import threading
from pathlib import Path

import pytest

from tests.tools.writing.acting import Desk, Person

PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEpAIBAAKCAQEA' * 8}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "secret.txt").write_text("outside")
    (folder / "notes.md").write_text("one\ntwo\nthree\n")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rests(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".ollm-*")]


async def test_the_question_shows_the_diff_of_what_is_written(root: Path) -> None:
    desk = Desk(root)
    result = await desk.done("edit_file", path="notes.md", old_text="two", new_text="2")
    assert desk.person.diff == (
        "--- notes.md\n+++ notes.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    )
    assert desk.person.previews[0].summary == "Change notes.md: 1 line added, 1 removed."
    assert desk.person.previews[0].may_last
    assert result.display == desk.person.diff
    assert result.content == "Changed notes.md: 1 line added, 1 removed; it has 12 B now."
    assert (root / "notes.md").read_text() == "one\n2\nthree\n"
    assert rests(root) == []


async def test_a_refusal_writes_nothing_and_gives_the_reason(root: Path) -> None:
    desk = Desk(root, Person(allows=False))
    result = await desk.call("write_file", path="new/a.txt", content="x\n")
    assert (result.outcome, result.content) == (
        "denied",
        "Not run: it was not allowed. Not today.",
    )
    assert not (root / "new").exists()


async def test_a_new_file_gets_its_folders(root: Path) -> None:
    desk = Desk(root)
    result = await desk.done("write_file", path="src/deep/a.py", content="print()\n")
    assert result.content.startswith("Created src/deep/a.py: 1 line added, 0 removed")
    assert desk.person.diff.startswith("--- /dev/null\n+++ src/deep/a.py\n@@ -0,0 +1,1 @@\n")
    assert (root / "src/deep/a.py").read_text() == "print()\n"


async def test_a_patch_changes_several_places(root: Path) -> None:
    desk = Desk(root)
    first, second = "@@ -1,2 +1,2 @@\n-one\n+1\n two\n", "@@ -3 +3,2 @@\n three\n+four\n"
    patch = f"--- a/notes.md\n+++ b/notes.md\n{first}{second}"
    await desk.done("patch_file", path="notes.md", patch=patch)
    assert (root / "notes.md").read_text() == "1\ntwo\nthree\nfour\n"


@pytest.mark.parametrize("meanwhile", ["changed", "removed", "link", "folder is a link"])
async def test_a_file_that_changed_behind_the_question_is_left_alone(
    root: Path, meanwhile: str
) -> None:
    (root / "sub").mkdir()
    path = root / "sub" / "a.txt"
    path.write_text("shown\n")
    outside = root.parent / "ws-evil"

    def act() -> None:
        if meanwhile == "changed":
            path.write_text("other\n")
        elif meanwhile == "removed":
            path.unlink()
        elif meanwhile == "link":
            path.unlink()
            path.symlink_to(outside / "secret.txt")
        else:
            path.unlink()
            (root / "sub").rmdir()
            (root / "sub").symlink_to(outside)

    desk = Desk(root, Person(before_answer=act))
    await desk.failure("write_file", path="sub/a.txt", content="new\n")
    assert (outside / "secret.txt").read_text() == "outside"
    assert names(outside) == ["secret.txt"]
    if meanwhile == "changed":
        assert path.read_text() == "other\n"


async def test_a_new_file_replaces_none_that_came_meanwhile(root: Path) -> None:
    def come() -> None:
        (root / "a.txt").write_text("first")

    desk = Desk(root, Person(before_answer=come))
    message = await desk.failure("write_file", path="a.txt", content="second")
    assert "has changed meanwhile" in message
    assert (root / "a.txt").read_text() == "first"


@pytest.mark.parametrize(
    ("before", "args", "after"),
    [
        (b"a\r\nb\r\n", {"old_text": "b\n", "new_text": "c\nd\n"}, b"a\r\nc\r\nd\r\n"),
        (b"\xef\xbb\xbfa\nb", {"old_text": "b", "new_text": "c"}, b"\xef\xbb\xbfa\nc"),
        (b"a\r\nb\n", {"old_text": "b", "new_text": "c"}, b"a\r\nc\n"),
        (b"x x", {"old_text": "x", "new_text": "y", "replace_all": True}, b"y y"),
    ],
)
async def test_the_rest_of_a_file_stays_as_it_is(
    root: Path, before: bytes, args: dict[str, str | bool], after: bytes
) -> None:
    (root / "f").write_bytes(before)
    (root / "f").chmod(0o750)
    await Desk(root).done("edit_file", path="f", **args)
    assert (root / "f").read_bytes() == after
    assert (root / "f").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"old_text": "four", "new_text": "x"}, "does not contain old_text"),
        ({"old_text": "e", "new_text": "x"}, "contains old_text 3 times"),
        ({"old_text": "", "new_text": "x"}, "old_text is empty"),
        ({"old_text": "two", "new_text": "two"}, "are the same"),
    ],
)
async def test_an_edit_that_does_not_fit_is_refused(
    root: Path, args: dict[str, str], message: str
) -> None:
    desk = Desk(root)
    assert message in await desk.failure("edit_file", path="notes.md", **args)
    assert desk.person.previews == []


ESCAPES = [
    "../ws-evil/secret.txt",
    "../ws-evil/new.txt",
    "..",
    "",
    ".",
    "/etc/passwd",
    "/etc/new",
    "/proc/self/mem",
    "/proc/self/root/tmp/x",
    "/dev/null",
    "sub/../../ws-evil/new.txt",
    "new/../../ws-evil/new.txt",
    "out",
    "out/new.txt",
    "out-file",
    "dangling-out",
    "hard",
    "pipe",
    "socket-like",
    "notes.md/below",
    "a\0b",
    "a\u202eb.txt",
    "a\nb.txt",
    "x" * 300,
    "/".join("d" * 5 for _ in range(900)),
    ".env",
    ".ENV",
    ".ssh/authorized_keys",
    ".git/config",
    "id_rsa",
    "loop",
    "self/../../ws-evil/new.txt",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_path_leads_out(root: Path, path: str) -> None:
    outside = root.parent / "ws-evil"
    (root / "sub").mkdir()
    (root / "out").symlink_to(outside)
    (root / "out-file").symlink_to(outside / "secret.txt")
    (root / "dangling-out").symlink_to(outside / "new.txt")
    (root / "self").symlink_to(".")
    (root / "loop").symlink_to("loop")
    os.link(outside / "secret.txt", root / "hard")
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "socket-like")
    desk = Desk(root)
    await desk.failure("write_file", path=path, content="owned")
    assert desk.person.previews == []
    assert (outside / "secret.txt").read_text() == "outside"
    assert names(outside) == ["secret.txt"]


async def test_a_link_inside_leads_to_its_file(root: Path) -> None:
    (root / "link").symlink_to("notes.md")
    await Desk(root).done("write_file", path="link", content="new\n")
    assert (root / "link").is_symlink()
    assert (root / "notes.md").read_text() == "new\n"


async def test_a_link_that_is_flipped_while_tools_write_never_leads_out(root: Path) -> None:
    outside, inside = root.parent / "ws-evil", root / "real"
    inside.mkdir()
    link, stop = root / "flip", threading.Event()
    link.symlink_to("real")

    def flip() -> None:
        targets = (outside, Path("real"))
        number = 0
        while not stop.is_set():
            number += 1
            rest = root / "flip.new"
            rest.symlink_to(targets[number % 2])
            rest.rename(link)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        desk = Desk(root)
        for number in range(60):
            await desk.call("write_file", path="flip/a.txt", content=f"{number}\n")
    finally:
        stop.set()
        thread.join()
    assert names(outside) == ["secret.txt"]
    assert rests(root.parent) == []


@pytest.mark.parametrize("call", ["fsync", "rename", "link", "write", "fchmod"])
@pytest.mark.parametrize("path", ["notes.md", "new/a.txt"])
async def test_a_fault_leaves_the_old_file_and_no_rest(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, path: str
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    desk = Desk(root)
    monkeypatch.setattr(os, call, fail)
    result = await desk.call("write_file", path=path, content="new\n")
    monkeypatch.undo()
    assert rests(root) == []
    if result.outcome == "done":
        assert (root / path).read_text() == "new\n"
        return
    assert "cannot be written" in result.content
    assert (root / "notes.md").read_text() == "one\ntwo\nthree\n"
    assert not (root / "new").exists()
    assert desk.journal.undo() == []


async def test_a_file_with_a_key_is_not_shown_in_a_diff(root: Path) -> None:
    (root / "notes.md").write_text(PRIVATE_KEY)
    message = await Desk(root).failure("write_file", path="notes.md", content="x")
    assert "holds a key" in message


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00binary", b"a\0b", pytest.param(b"x" * 1_000_001, id="large")]
)
async def test_what_is_not_a_small_text_is_not_edited(root: Path, content: bytes) -> None:
    (root / "f").write_bytes(content)
    await Desk(root).failure("edit_file", path="f", old_text="x", new_text="y")
    assert (root / "f").read_bytes() == content


async def test_the_arguments_cannot_be_changed_after_the_question(root: Path) -> None:
    desk = Desk(root)
    args: dict[str, str] = {"path": "a.txt", "content": "shown"}
    desk.person.before_answer = lambda: args.update(content="other")
    await desk.done("write_file", **args)
    assert (root / "a.txt").read_text() == "shown"
