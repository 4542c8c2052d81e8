"""What lies on the disk while a file comes: one writer, a full disk, a folder in the way."""

import errno
import os
import random
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads.part_file import PartState, load_state, resumable_bytes, save_state
from ollm_tui.library.downloads.transfer import discard
from ollm_tui.protocol.errors import ErrorCode
from tests.library.downloads.file_host import FileHost, SendBuilder, content
from tests.library.downloads.rig import Bench, bench

ROOT = Path(__file__).parents[3]
SIZE = 300_000
DATA = content(SIZE)


def stop_after(count: int) -> FileHost:
    """Give a server that stands still after so many bytes, once."""

    def stall(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.stalls_at = count

    return FileHost(DATA, lies=[stall], piece=count)


async def running(b: Bench, count: int) -> None:
    """Wait until so many bytes were told, up to a last handful that waits for company."""
    with anyio.fail_after(10):
        while not b.steps or b.steps[-1].completed < count - 40_000:
            await anyio.sleep(0.001)


async def test_two_tasks_do_not_write_one_file(tmp_path: Path) -> None:
    async with bench(tmp_path, stop_after(100_000)) as b, anyio.create_task_group() as group:
        group.start_soon(b.fetch)
        with anyio.fail_after(10):
            while "m.gguf.part.lock" not in b.left():
                await anyio.sleep(0.001)
        error = await b.trouble()
        assert error.code == ErrorCode.CONFLICT
        assert error.message == "Another instance is downloading m.gguf."
        with pytest.raises(type(error), match="Another instance"):
            await discard(b.target)
        group.cancel_scope.cancel()
    assert b.left() == {"m.gguf.part", "m.gguf.part.json"} or b.left() == set()


HOLDER = """
import sys
from pathlib import Path
from ollm_tui.library.downloads.part_file import exclusive_part
with exclusive_part(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


async def test_two_programs_do_not_write_one_file(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        command = [sys.executable, "-c", HOLDER, str(b.target)]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            error = await b.trouble()
            assert error.code == ErrorCode.CONFLICT
            assert b.host.asked == []
            other.kill()
            other.wait(10)
            await b.fetch()  # the lock of a dead program is nobody's
        assert b.left() == {"m.gguf"}


async def test_what_does_not_fit_is_not_begun(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(free_bytes=lambda _folder: SIZE)
        assert "315 kB are needed, 300 kB are free" in error.message
        assert error.details["needed"] == SIZE + SIZE // 20
        assert b.left() == set()
        await b.fetch(free_bytes=lambda _folder: SIZE + SIZE // 20)


async def test_only_what_is_missing_has_to_fit(tmp_path: Path) -> None:
    async with bench(tmp_path, stop_after(200_000)) as b:
        async with anyio.create_task_group() as group:
            group.start_soon(b.fetch)
            await running(b, 200_000)
            group.cancel_scope.cancel()
        kept = resumable_bytes(b.target)
        assert 160_000 <= kept <= 200_000
        needed = (SIZE - kept) * 105 // 100
        error = await b.trouble(free_bytes=lambda _folder: needed - 1)
        assert error.details["needed"] == needed
        assert resumable_bytes(b.target) == kept
        await b.fetch(free_bytes=lambda _folder: needed)
        assert b.target.read_bytes() == DATA


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
async def test_a_disk_that_fills_up_keeps_what_has_come(tmp_path: Path, number: int) -> None:
    room = 200_000

    def write(descriptor: int, data: memoryview, place: int) -> int:
        if place >= room:
            raise OSError(number, os.strerror(number))
        return os.pwrite(descriptor, data[: room - place], place)

    async with bench(tmp_path, FileHost(DATA)) as b:
        sizes = iter([10**9])
        error = await b.trouble(write=write, free_bytes=lambda _folder: next(sizes, 0))
        assert "There is no space left" in error.message
        assert "0 B are free" in error.message
        assert b.left() == {"m.gguf.part", "m.gguf.part.json"}
        kept = resumable_bytes(b.target)
        assert room - 64 * 1024 <= kept <= room
        b.host.sent = 0
        await b.fetch()
        assert b.target.read_bytes() == DATA
        assert b.host.sent == SIZE - kept


async def test_a_limit_on_files_is_not_called_a_full_disk(tmp_path: Path) -> None:
    def write(descriptor: int, data: memoryview, place: int) -> int:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(write=write, free_bytes=lambda _folder: 10**9)
        folder = b.target.parent
        assert error.message == f"{folder} takes no more of it, although 1.0 GB are free."
        assert "limit on the size" in (error.hint or "")


FULL = """
import resource, signal, sys
from contextlib import aclosing
from pathlib import Path
import anyio
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.fetcher import HttpFetcher

async def main():
    async with aclosing(HttpFetcher()) as fetcher:
        try:
            source, target = FileSource(url=sys.argv[1]), Path(sys.argv[2])
            await transfer(fetcher, source, target, report=lambda _: None)
        except AIError as error:
            print(error.details.get("fault"))

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
anyio.run(main)
"""


async def test_a_real_limit_of_the_system_is_met_in_the_same_way(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        command = [sys.executable, "-c", FULL, b.source().url, str(b.target)]
        done = await anyio.run_process(command, cwd=ROOT)
        assert done.stdout == b"disk_full\n"
        assert 130_000 <= resumable_bytes(b.target) <= 200_000
        await b.fetch()
        assert b.target.read_bytes() == DATA


async def test_a_folder_that_cannot_be_written_to_is_reported(tmp_path: Path) -> None:
    def refused(_descriptor: int, _data: memoryview, _place: int) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(write=refused)
        assert error.message.endswith(": Read-only file system.")
        assert error.hint == "Check the permissions of that folder, or choose another one."
        (tmp_path / "models").rmdir()
        (tmp_path / "models").write_text("a file")
        error = await b.trouble()
        assert "m.gguf cannot be stored in" in error.message


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("ending", [".part", ".part.json", ".part.lock"])
async def test_what_is_put_in_the_way_is_not_written_through(
    tmp_path: Path, kind: str, ending: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"not ours")
    async with bench(tmp_path, FileHost(DATA)) as b:
        b.target.parent.mkdir()
        trap = b.target.with_name(b.target.name + ending)
        match kind:
            case "link":
                trap.symlink_to(outside)
            case "pipe":
                os.mkfifo(trap)
            case _:
                trap.mkdir()
        with anyio.fail_after(10):
            if ending != ".part.json" or kind == "folder":
                await b.trouble()
            else:  # the state takes the name, and what it was stays as it is
                await b.fetch()
    assert outside.read_bytes() == b"not ours"


async def test_a_part_that_is_removed_meanwhile_is_reported(tmp_path: Path) -> None:
    async with bench(tmp_path, stop_after(100_000)) as b:
        errors = []

        async def fetch() -> None:
            errors.append(await b.trouble())

        async with anyio.create_task_group() as group:
            group.start_soon(fetch)
            await running(b, 100_000)
            b.target.with_name("m.gguf.part").unlink()
            b.server.received.clear()
            b.host.lies.clear()
            group.cancel_scope.cancel()
        b.steps.clear()

        def removing(descriptor: int, data: memoryview, place: int) -> int:
            b.target.with_name("m.gguf.part").unlink(missing_ok=True)
            return os.pwrite(descriptor, data, place)

        error = await b.trouble(write=removing)
        assert error.code == ErrorCode.CONFLICT
        assert "removed or replaced in the meantime" in error.message
        assert "m.gguf" not in b.left()


async def test_a_file_that_comes_to_the_place_meanwhile_is_not_written_over(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:

        def write(descriptor: int, data: memoryview, place: int) -> int:
            b.target.write_bytes(b"mine")
            return os.pwrite(descriptor, data, place)

        error = await b.trouble(write=write)
        assert error.code == ErrorCode.CONFLICT
        assert b.target.read_bytes() == b"mine"


async def test_a_state_holds_no_secret(tmp_path: Path) -> None:
    async with bench(tmp_path, stop_after(100_000)) as b:
        async with anyio.create_task_group() as group:
            place = f"127.0.0.1:{b.server.port}/m.gguf"
            source = b.source(url=f"http://me:planted-1@{place}?k=planted-2#x", token="planted-3")
            group.start_soon(b.fetch, source)
            await running(b, 100_000)
            group.cancel_scope.cancel()
        text = b.target.with_name("m.gguf.part.json").read_text()
        assert "planted" not in text
        assert f"http://{place}" in text
        assert b.target.with_name("m.gguf.part.json").stat().st_mode & 0o777 == 0o600
        assert "planted" not in repr(source)


def test_a_state_is_read_as_it_was_written_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = PartState(url="http://h/x", etag='"e"', size=10, sha256="ab" * 32, done=5)
    save_state(path, state)
    assert load_state(path) == state
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert load_state(path) is None
    for old, new in ((b'"done": 5', b'"done": 11'), (b'"done": 5', b'"done": -1'), (b"1", b"2")):
        path.write_bytes(whole.replace(old, new, 1))
        assert load_state(path) is None
    path.write_bytes(whole + b" " * 100_000)
    assert load_state(path) is None
