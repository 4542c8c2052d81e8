import os
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tools.builtin import read_file
from ollm_tui.tools.builtin.read_file import read_window
from tests.tools.builtin.files import fail, use


@pytest.mark.parametrize(
    "data", [b"", b"one\n", b"one\ntwo", b"one\r\ntwo\r\n", "\ufeffä\n".encode()]
)
async def test_a_small_file_comes_whole(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    expected = data.decode("utf-8-sig").replace("\r\n", "\n")
    output = await use(tmp_path, "read_file", path="a.txt")
    assert output == (expected or "[a.txt has 0 lines, 0 bytes; nothing is at line 1]")


@pytest.mark.parametrize(
    ("start", "count", "output"),
    [
        (1, 2, "1\n2\n\n[lines 1 to 2 of 5 lines, 9 bytes; go on with start_line=3]"),
        (3, 2, "3\n4\n\n[lines 3 to 4 of 5 lines, 9 bytes; go on with start_line=5]"),
        (5, 9, "5\n[lines 5 to 5 of 5 lines, 9 bytes]"),
        (1, 5, "1\n2\n3\n4\n5"),
        (6, 1, "[a.txt has 5 lines, 9 bytes; nothing is at line 6]"),
    ],
)
async def test_a_part_says_which_it_is_and_how_to_go_on(
    tmp_path: Path, start: int, count: int, output: str
) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5")
    assert (
        await use(tmp_path, "read_file", path="a.txt", start_line=start, line_count=count) == output
    )


@pytest.mark.parametrize("args", [{"start_line": 0}, {"line_count": 0}, {"start_line": -5}])
async def test_lines_count_from_one(tmp_path: Path, args: dict[str, int]) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    assert "must be 1 or more" in await fail(tmp_path, "read_file", path="a.txt", **args)


async def test_a_long_file_comes_in_parts_that_join_to_the_whole(tmp_path: Path) -> None:
    data = "".join(f"line {number} {'x' * (number % 700)}\n" for number in range(3000))
    (tmp_path / "a.txt").write_text(data)
    joined, start = "", 1
    while True:
        output = await use(tmp_path, "read_file", path="a.txt", start_line=start, line_count=5000)
        assert len(output) < read_file.MAX_BYTES + 200
        text, _, note = output.rpartition("\n[")
        joined += text
        _, found, more = note.partition("start_line=")
        if not found:
            break
        start = int(more.rstrip("]"))
    assert joined == data


async def test_a_line_longer_than_all_that_is_given_comes_in_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 100_000 + "\nlast\n")
    output = await use(tmp_path, "read_file", path="a.txt")
    text, _, note = output.partition("\n")
    assert text == "x" * read_file.MAX_BYTES
    assert (
        note
        == "[lines 1 to 1, the last one in part of 2 lines, 100,006 bytes; go on with start_line=2]"
    )
    assert (await use(tmp_path, "read_file", path="a.txt", start_line=2)).startswith("last\n")


async def test_what_is_no_text_is_reported_with_its_size_and_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x89PNG\0" + b"z" * 1000)
    output = await use(tmp_path, "read_file", path="a.bin")
    assert output.startswith("[a.bin is not text; 1,005 bytes. It begins with: 89 50 4e 47 00 7a")
    assert len(output) < 1000


async def test_bytes_that_are_no_utf_8_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    assert await use(tmp_path, "read_file", path="a.txt") == "caf\ufffd\n"


def sparse(path: Path, start: bytes) -> None:
    path.write_bytes(start)
    os.truncate(path, 5_000_000_000)


@pytest.mark.parametrize("start", [b"", b"text\n" * 4000], ids=["zeros", "text first"])
async def test_five_gigabytes_take_neither_time_nor_memory(tmp_path: Path, start: bytes) -> None:
    sparse(tmp_path / "huge", start)
    await use(tmp_path, "read_file", path="huge", line_count=1)
    tracemalloc.start()
    begun = time.monotonic()
    output = await use(tmp_path, "read_file", path="huge", line_count=2)
    took, peak = time.monotonic() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "5,000,000,000 bytes" in output
    assert output.startswith("text\ntext\n\n[lines 1 to 2 of" if start else "[huge is not text")
    assert peak < 1_000_000
    assert took < 1


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        ".ssh/id_rsa",
        ".git/config",
        "sub/.netrc",
        "Server.KEY",
        "a.pem",
        ".AWS/x",
    ],
)
async def test_what_may_hold_keys_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("TOKEN=1")
    (tmp_path / "link").symlink_to(name)
    for path in (name, "link"):
        output = await fail(tmp_path, "read_file", path=path)
        assert "passwords or keys" in output
        assert "TOKEN" not in output


@pytest.mark.parametrize(
    "name", [".gitignore", ".env.example", ".github/ci.yml", "config", "keys.py"]
)
async def test_other_hidden_files_are_read_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("text")
    assert await use(tmp_path, "read_file", path=name) == "text"


async def test_a_folder_and_an_absent_file_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert await fail(tmp_path, "read_file", path="sub") == (
        "sub is a folder. Use list_directory for it."
    )
    assert await fail(tmp_path, "read_file", path="gone") == "gone does not exist."
    assert "is outside" in await fail(tmp_path, "read_file", path="/etc/passwd")


@given(
    st.lists(st.sampled_from([b"", b"a", b"bc", b"\r", b"def" * 5]), max_size=12).map(b"\n".join),
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 7),
)
def test_a_window_is_the_same_however_the_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, first: int, count: int, chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "window"
    path.write_bytes(data)
    all_lines = data.splitlines(keepends=True) if b"\r" not in data else None
    fd = os.open(path, os.O_RDONLY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_file, "CHUNK_BYTES", chunk)
        window = read_window(fd, len(data), first, count, 10_000)
    os.close(fd)
    parts = data.split(b"\n")
    expected = b"\n".join(parts[first - 1 : first - 1 + count])
    if first - 1 + count < len(parts) and first <= len(parts):
        expected += b"\n"
    assert bytes(window.text) == expected
    assert window.total == len(parts) - (parts[-1] == b"")
    assert not window.is_cut
    assert all_lines is None or window.total == len(all_lines)
