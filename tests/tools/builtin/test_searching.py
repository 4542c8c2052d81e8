import os
import time
from itertools import count
from pathlib import Path

import anyio
import pytest

from ollm_tui.tools.builtin import search_files
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.builtin.search_files import searching_tool
from tests.support.seeds import sampled
from tests.support.tools import runner_for, tool_call
from tests.tools.builtin.files import fail, use


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    for name, text in {
        "a.py": "one needle\nnothing\r\nNeedle\n",
        "b.md": "x (needle) y",
        "sub/c.py": "needle",
        "sub/deep/d.py": "needle",
        "bin.dat": "needle\0",
        ".hidden/e.py": "needle",
        ".env": "needle",
        "server.key": "needle",
        "node_modules/f.py": "needle",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, newline="")
    (tmp_path / "outside.py").write_text("needle")
    (folder / "link.py").symlink_to("../outside.py")
    (folder / "sub" / "up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    return folder


async def test_lines_are_found_below_the_root_with_path_and_number(root: Path) -> None:
    assert (await use(root, "search_files", pattern="needle")).splitlines() == [
        "a.py:1: one needle",
        "b.md:1: x (needle) y",
        "sub/c.py:1: needle",
        "sub/deep/d.py:1: needle",
        "[4 matching lines in 5 files of .]",
    ]


@pytest.mark.parametrize(
    ("path", "glob", "found"),
    [
        (".", "*.md", ["b.md"]),
        (".", "*.py", ["a.py", "sub/c.py", "sub/deep/d.py"]),
        (".", "sub/*.py", ["sub/c.py", "sub/deep/d.py"]),
        (".", "./sub/**/*.py", ["sub/c.py", "sub/deep/d.py"]),
        (".", "**/*.py", ["a.py", "sub/c.py", "sub/deep/d.py"]),
        ("sub/deep", "*", ["sub/deep/d.py"]),
        ("b.md", "*", ["b.md"]),
        (".hidden", "*", [".hidden/e.py"]),
        (".", "*.none", []),
    ],
)
async def test_a_search_can_be_narrowed(root: Path, path: str, glob: str, found: list[str]) -> None:
    output = await use(root, "search_files", pattern="needle", path=path, glob=glob)
    assert [line.partition(":")[0] for line in output.splitlines()[:-1]] == found


async def test_text_is_no_pattern_unless_asked(root: Path) -> None:
    assert "b.md:1" in await use(root, "search_files", pattern="(needle)")
    output = await use(root, "search_files", pattern="^[Nn]eedle$", mode="regex")
    assert [line.rpartition(":")[0] for line in output.splitlines()[:-1]] == [
        "a.py:3",
        "sub/c.py:1",
        "sub/deep/d.py:1",
    ]


@pytest.mark.parametrize("pattern", ["(", "[", "*a"])
async def test_a_pattern_that_is_none_is_a_sentence(root: Path, pattern: str) -> None:
    output = await fail(root, "search_files", pattern=pattern, mode="regex")
    assert output.startswith("The pattern is no regular expression")


@pytest.mark.parametrize("pattern", ["", "x" * 501])
async def test_a_pattern_has_some_characters_and_not_too_many(root: Path, pattern: str) -> None:
    assert "1 to 500 characters" in await fail(root, "search_files", pattern=pattern)


@pytest.mark.parametrize(
    "pattern", sampled(["(a+)+$", "(a|aa)+$", "(?:(?:a{1,99}){1,99}){1,99}b"], 1)
)
async def test_a_pattern_that_explodes_costs_its_own_call_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    (tmp_path / "a.txt").write_text("a" * 3000 + "!")
    await use(tmp_path, "search_files", pattern="a", mode="regex")  # loads what is loaded on use
    monkeypatch.setattr(search_files, "_PATTERN_SECONDS", 1.2)
    longest_stop = 0.0

    async def tick() -> None:
        nonlocal longest_stop
        while True:
            before = time.monotonic()
            await anyio.sleep(0.001)
            longest_stop = max(longest_stop, time.monotonic() - before)

    begun = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        output = await fail(tmp_path, "search_files", pattern=pattern, mode="regex")
        group.cancel_scope.cancel()
    assert "takes too long" in output
    # The engine counts processor time, so a busy machine makes the whole longer: compare with that.
    assert longest_stop < (time.monotonic() - begun) / 2


async def test_secrets_are_not_searched_by_name_either(root: Path) -> None:
    output = await fail(root, "search_files", pattern="needle", path=".env")
    assert "passwords or keys" in output
    assert "is outside" in await fail(root, "search_files", pattern="needle", path="link.py")


async def test_matches_are_limited(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.py").write_text("needle\n" * 1000)
    monkeypatch.setattr(search_files, "MAX_MATCHES", 10)
    output = await use(root, "search_files", pattern="needle")
    assert "; stopped at 10 matches]" in output
    assert len(output.splitlines()) <= 210


async def test_time_is_limited(root: Path) -> None:
    ticks = count(step=1)
    search = searching_tool(root.resolve(), FileGuard(), lambda: float(next(ticks) * 5))
    result = await runner_for(search).run(tool_call("search_files", {"pattern": "needle"}))
    assert result.content.endswith("; stopped after 8 s]")
    assert "sub/deep" not in result.content


async def test_a_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 5000 + "needle")
    output = await use(tmp_path, "search_files", pattern="needle")
    assert output.splitlines()[0] == f"a.txt:1: {'x' * 300}"


async def test_only_the_beginning_of_a_huge_file_is_searched(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    with (tmp_path / "a.txt").open("ab") as file:
        file.write(b"x\n" * search_files.MAX_FILE_BYTES + b"needle\n")
    output = await use(tmp_path, "search_files", pattern="needle")
    assert output.splitlines()[1] == "[1 matching line in 1 file of .]"


async def test_folders_are_walked_to_a_depth_and_unreadable_ones_passed_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_files, "MAX_DEPTH", 1)
    output = await use(root, "search_files", pattern="needle", glob="*.py")
    assert "sub/c.py" in output
    assert "sub/deep" not in output

    def refuse(_fd: object) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refuse)
    assert await use(root, "search_files", pattern="needle") == "[0 matching lines in 0 files of .]"


async def test_a_search_leaves_nothing_open(root: Path) -> None:
    await use(root, "search_files", pattern="needle")
    before = len(list(Path("/dev/fd").iterdir()))
    await use(root, "search_files", pattern="needle")
    await fail(root, "search_files", pattern="(e+)+$(", mode="regex")
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize(
    "pattern",
    ["((a{1000}){1000}){1000}", "(?:(?:a{500}){500}){500}b", "(?x)((a{ 999 }) #\n{999}){999,}"],
)
async def test_a_pattern_that_repeats_too_often_is_not_even_compiled(
    root: Path, pattern: str
) -> None:
    (root / "a.txt").write_text("a" * 5000)
    output = await fail(root, "search_files", pattern=pattern, mode="regex")
    assert output == "The pattern repeats too often. Use smaller or fewer counts in {}."
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert "0 matching" in await use(root, "search_files", pattern=uuid, mode="regex")
