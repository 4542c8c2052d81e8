import errno
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.builtin.root import open_child, place_in_root, resolve_in_root
from ollm_tui.tools.define import ToolFailure

SECRET = b"the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a root with some files, beside a twin of its name that holds the secret."""
    folder = tmp_path.resolve() / "ws"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"inside a")
    (folder / "sub" / "b.txt").write_bytes(b"inside b")
    twin = tmp_path.resolve() / "ws-evil"
    twin.mkdir()
    (twin / "secret.txt").write_bytes(SECRET)
    return folder


def content(root: Path, path: str) -> bytes:
    with resolve_in_root(root, path) as found:
        return os.read(found.fd, 1000)


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def refusal(root: Path, path: str) -> str:
    with pytest.raises(ToolFailure) as caught, resolve_in_root(root, path):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        ("sub/../a.txt", "a.txt"),
        ("sub/deep/../../a.txt", "a.txt"),
        ("sub//b.txt", "sub/b.txt"),
        ("", "."),
        (".", "."),
        ("sub/..", "."),
        ("sub/", "sub"),
    ],
)
def test_a_path_inside_opens_and_tells_its_way_from_the_root(
    root: Path, path: str, shown: str
) -> None:
    with resolve_in_root(root, path) as found:
        assert found.shown == shown
        assert found.is_folder == (not shown.endswith(".txt"))
        assert found.status.st_ino == (root / shown).stat().st_ino


def test_an_absolute_path_inside_is_inside(root: Path) -> None:
    assert content(root, f"{root}/sub/b.txt") == b"inside b"
    assert content(root, f"//{root}/./a.txt") == b"inside a"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../ws-evil/secret.txt",
        "sub/../../ws-evil/secret.txt",
        "../ws/a.txt",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/null",
    ],
)
def test_a_path_that_leaves_is_refused(root: Path, path: str) -> None:
    assert refusal(root, path) == f"{path} is outside {root}; tools reach only what is inside."


def test_a_folder_whose_name_begins_like_the_root_is_outside(root: Path) -> None:
    assert "is outside" in refusal(root, f"{root}-evil/secret.txt")


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("../ws-evil/secret.txt", "{parent}/ws-evil/secret.txt"),
        ("../ws-evil", "{parent}/ws-evil"),
        ("/etc/passwd", "/etc/passwd"),
        ("/proc/self/environ", "/proc/self/environ"),
        ("sub/../../ws-evil/nothing", "{parent}/ws-evil/nothing"),
    ],
)
def test_a_link_that_leaves_is_refused_with_where_it_leads(
    root: Path, target: str, leads: str
) -> None:
    (root / "link").symlink_to(target)
    expected = leads.format(parent=root.parent)
    assert refusal(root, "link") == (
        f"link leads to {expected}, which is outside {root}; tools reach only what is inside."
    )
    assert f"leads to {expected}" in refusal(root, "link/secret.txt")


def test_links_that_stay_inside_work(root: Path) -> None:
    (root / "sub" / "up").symlink_to("../a.txt")
    (root / "folder").symlink_to("sub/deep")
    (root / "absolute").symlink_to(root / "sub")
    (root / "twice").symlink_to("absolute")
    assert content(root, "sub/up") == b"inside a"
    assert content(root, "absolute/b.txt") == b"inside b"
    assert content(root, "twice/b.txt") == b"inside b"
    with resolve_in_root(root, "folder/../b.txt") as found:
        assert found.shown == "sub/b.txt"


def test_a_link_up_and_back_in_is_not_followed_outside(root: Path) -> None:
    (root / "link").symlink_to("../ws/a.txt")
    assert "is outside" in refusal(root, "link")


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert "form a loop" in refusal(root, "one")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nothing", "nothing does not exist."),
        ("a.txt/b", "a.txt/b has a part that is not a folder."),
        ("a\0b", "A path cannot hold the character NUL."),
        ("x" * 300, "has a name in it that is too long."),
        ("x/" * 3000, "The path is longer than 4096 bytes."),
        ("\ud800", "The path is not valid text."),
        ("sub/" + "deep/../" * 500, "The path takes too many steps."),
    ],
    ids=["absent", "through a file", "NUL", "long name", "long path", "surrogate", "steps"],
)
def test_what_cannot_be_opened_is_a_sentence(root: Path, path: str, reason: str) -> None:
    assert refusal(root, path).endswith(reason)


def test_a_dangling_link_does_not_exist(root: Path) -> None:
    (root / "link").symlink_to("gone")
    assert refusal(root, "link") == "link does not exist."


def test_a_folder_that_may_not_be_read_is_a_sentence(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert refusal(root, "a.txt") == "a.txt cannot be read: permission denied."


def test_a_pipe_or_socket_is_refused_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        took = []
        for name in ["pipe", "socket"] * 5:
            begun = time.monotonic()
            assert "a pipe, socket or device" in refusal(root, name)
            took.append(time.monotonic() - begun)
    # The quickest of several: a busy machine may hold up one.
    assert min(took[::2]) < 0.05
    assert min(took[1::2]) < 0.05


def test_a_device_is_refused(root: Path) -> None:
    fd = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError, match="pipe, socket or device"):
            open_child(fd, "null")
    finally:
        os.close(fd)


def test_what_becomes_a_pipe_between_the_look_and_the_open_is_refused_and_closed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    regular, stat_of = (root / "a.txt").stat(), os.stat
    monkeypatch.setattr(
        os,
        "stat",
        lambda path, **given: regular if "dir_fd" in given else stat_of(path, **given),
    )
    before = open_files()
    assert "a pipe, socket or device" in refusal(root, "pipe")
    assert open_files() == before


def test_below_the_root_of_all_the_systems_own_folders_are_closed() -> None:
    for path in ("/proc/self/environ", "dev/null", "/sys", "usr/../proc/self/environ"):
        assert "belongs to the system" in refusal(Path("/"), path)
    with resolve_in_root(Path("/"), "usr") as found:
        assert found.shown == "usr"


def test_a_hard_link_cannot_be_distinguished_from_a_file_of_its_own(root: Path) -> None:
    # Making one takes the right to the file itself; package managers fill folders with them.
    os.link(root.parent / "ws-evil" / "secret.txt", root / "hard")
    assert content(root, "hard") == SECRET


def test_nothing_stays_open(root: Path) -> None:
    (root / "link").symlink_to("../ws-evil")
    os.mkfifo(root / "pipe")
    before = open_files()
    for path in ("a.txt", "sub/deep/..", "nothing", "link", "pipe", "a.txt/b", "..", "\0"):
        try:
            with resolve_in_root(root, path):
                pass
        except ToolFailure:
            pass
    assert open_files() == before


def test_a_name_that_would_not_be_seen_is_spelled_out(root: Path) -> None:
    (root / "a\u200bb\n").write_bytes(b"")
    with resolve_in_root(root, "a\u200bb\n") as found:
        assert found.shown == "a⟦U+200B⟧b⟦U+000A⟧"


COMPONENTS = st.sampled_from(
    ["..", ".", "", "sub", "deep", "a.txt", "in", "out", "up", "abs", "ws", "ws-evil", "secret.txt"]
)


@given(st.lists(COMPONENTS, max_size=9), st.booleans())
@settings(max_examples=400)
def test_no_way_through_folders_and_links_reaches_what_is_outside(
    tmp_path_factory: pytest.TempPathFactory, components: list[str], absolute: bool
) -> None:
    root = links_of(tmp_path_factory)
    path = "/".join([str(root), *components] if absolute else components)
    try:
        with resolve_in_root(root, path) as found:
            inside = Path(root, path).resolve(strict=True)
            assert inside.is_relative_to(root)
            assert found.status.st_ino == inside.stat().st_ino
            assert Path(root, *found.names) == inside
    except ToolFailure:
        pass


def links_of(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp().resolve() / "links" / "ws"
    if not folder.exists():
        (folder / "sub" / "deep").mkdir(parents=True)
        (folder.parent / "ws-evil").mkdir()
        (folder.parent / "ws-evil" / "secret.txt").write_bytes(SECRET)
        (folder / "a.txt").write_bytes(b"inside")
        (folder / "in").symlink_to("sub")
        (folder / "out").symlink_to("../ws-evil")
        (folder / "sub" / "up").symlink_to("..")
        (folder / "sub" / "deep" / "up").symlink_to("../../..")
        (folder / "abs").symlink_to(folder / "sub")
    return folder


@pytest.fixture
def flipping(root: Path) -> Iterator[list[int]]:
    """Swap a file and a folder for links to the outside and back, without a pause."""
    outside = root.parent / "ws-evil"
    (root / "dir").mkdir()
    (root / "dir" / "secret.txt").write_bytes(b"inside")
    (root / "file").write_bytes(b"inside")
    (root / "dir.link").symlink_to(outside)
    over, flips = threading.Event(), [0]

    def flip() -> None:
        while not over.is_set():
            (root / "new").symlink_to(outside / "secret.txt")
            (root / "new").replace(root / "file")
            (root / "dir").rename(root / "dir.real")
            (root / "dir.link").rename(root / "dir")
            (root / "dir").rename(root / "dir.link")
            (root / "dir.real").rename(root / "dir")
            (root / "new").write_bytes(b"inside")
            (root / "new").replace(root / "file")
            flips[0] += 1

    thread = threading.Thread(target=flip)
    thread.start()
    yield flips
    over.set()
    thread.join()


@pytest.mark.slow
def test_a_link_swapped_in_while_reading_gives_no_byte_from_outside(
    root: Path, flipping: list[int]
) -> None:
    outcomes = {"inside": 0, "refused": 0}
    number = 0
    while number < 1000 or (min(outcomes.values()) == 0 and number < 100_000):
        number += 1
        path = ("file", "dir/secret.txt", "dir/../file", "dir/../dir/secret.txt")[number % 4]
        try:
            with resolve_in_root(root, path) as found:
                assert stat.S_ISREG(found.status.st_mode)
                data = os.read(found.fd, 100)
        except ToolFailure:
            outcomes["refused"] += 1
        else:
            assert data == b"inside"
            outcomes["inside"] += 1
    # Both happened, or the swapping never met a reading.
    assert min(outcomes.values()) > 0
    assert flipping[0] > 0


@pytest.fixture
def own(root: Path) -> Path:
    """Give a folder of the program's, outside the root, with a file in it."""
    folder = root.parent / "own"
    (folder / "below" / "ws").mkdir(parents=True)
    (folder / "kept").write_bytes(SECRET)
    (folder / "below" / "ws" / "kept").write_bytes(SECRET)
    return folder


def test_a_file_whose_other_name_is_replaced_while_it_is_opened_is_refused(
    root: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that is open has one name by then: its own, in a place that is not read."""
    (root / "link").hardlink_to(own / "kept")
    system_open = os.open

    def replaced_once_open(path: str, *rest: int, dir_fd: int | None = None) -> int:
        fd = system_open(path, *rest, dir_fd=dir_fd)
        if path == "link":
            (root / "a.txt").replace(root / "link")
        return fd

    monkeypatch.setattr(os, "open", replaced_once_open)
    with pytest.raises(ToolFailure) as caught:
        guarded(root, own, "link")
    assert "changed while reading" in str(caught.value)


def test_a_file_whose_other_name_is_gone_when_names_are_compared_is_refused(
    root: Path, own: Path
) -> None:
    (root / "link").hardlink_to(own / "kept")
    status = (root / "link").stat()
    (root / "link").unlink()
    with pytest.raises(ToolFailure, match="belongs to ollm itself"):
        FileGuard(own=(own,)).look(root).require_opened(["link"], status)


def test_a_root_whose_path_leads_into_a_closed_place_by_now_is_refused(
    root: Path, own: Path
) -> None:
    inner = root / "x" / "ws"
    inner.mkdir(parents=True)
    (root / "x").rename(root / "y")
    (root / "x").symlink_to(own / "below")
    with pytest.raises(ToolFailure, match="belongs to ollm itself"):
        guarded(inner, own, "kept")


@pytest.mark.parametrize("unseen", ["\x01", "\n", "\u202e", "\u2066", "\u180e", "\udcff"])
def test_characters_that_are_not_seen_hide_no_place_of_secrets(unseen: str, root: Path) -> None:
    (root / f".e{unseen}nv").write_bytes(SECRET)
    assert "may hold passwords" in refusal(root, f".e{unseen}nv")


def guarded(root: Path, own: Path, path: str) -> bytes:
    with resolve_in_root(root, path, FileGuard(own=(own,))) as found:
        return os.read(found.fd, 1000)


@pytest.mark.parametrize("path", ["cfg/ollm/config.toml", "cfg/OLLM/x", "cfg/ollm"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_place_of_the_program_that_does_not_exist_yet_is_not_written(
    path: str, is_there: bool, root: Path
) -> None:
    if is_there:
        (root / "cfg").mkdir()
    guard = FileGuard(own=(root / "cfg" / "ollm",))
    with (
        pytest.raises(ToolFailure, match="belongs to ollm itself"),
        place_in_root(root, path, guard),
    ):
        pass
    with place_in_root(root, "cfg/other/config.toml", guard) as place:
        assert place.name == "config.toml"
