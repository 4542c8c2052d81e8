"""A transfer that is cancelled at any moment leaves a usable part, and nothing that runs."""

import asyncio
from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads.part_file import load_state, resumable_bytes
from ollm_tui.library.downloads.transfer import discard
from tests.contract.observe import no_task_left, tasks
from tests.library.downloads.file_host import FileHost, content
from tests.library.downloads.rig import bench

SIZE = 2_000_000
DATA = content(SIZE)
MOMENTS = 24


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("times", [1, 2])
async def test_cancelled_anywhere_it_goes_on_where_it_was(tmp_path: Path, times: int) -> None:
    """Each piece that goes out is a moment; what is asked for next is what is not there yet."""
    async with bench(tmp_path, FileHost(DATA, piece=SIZE // MOMENTS)) as b:
        reached, sent = anyio.Event(), 0

        async def count(place: int) -> None:
            nonlocal sent
            sent = place
            if place >= wanted:
                reached.set()
                await anyio.sleep_forever()

        b.host.between = count
        for moment in range(1, MOMENTS):
            wanted, reached = moment * (SIZE // MOMENTS), anyio.Event()
            before, files = tasks(), open_files()
            kept = resumable_bytes(b.target)
            task = asyncio.get_running_loop().create_task(b.fetch())
            with anyio.fail_after(10):
                await reached.wait()
                while moment % 2 and resumable_bytes(b.target) < wanted - SIZE // 10:
                    await anyio.sleep(0.001)  # every other time what was sent has come
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await task
            await no_task_left(before)
            await b.server.settled()
            with anyio.fail_after(5):
                while b.server.connections:
                    await anyio.sleep(0.001)
            assert kept <= resumable_bytes(b.target) <= sent
            assert b.left() <= {"m.gguf.part", "m.gguf.part.json"}
            assert open_files() <= files + 1, "the pool may hold one idle connection"
        b.host.between = None
        assert resumable_bytes(b.target) > SIZE // 2
        b.steps.clear()
        await b.fetch()
        assert b.target.read_bytes() == DATA
    starts = [int((asked or "bytes=0-")[6:-1]) for asked in b.host.ranges]
    assert starts == sorted(starts)


async def test_cancelled_before_anything_was_sent_it_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        for turns in range(40):
            task = asyncio.get_running_loop().create_task(b.fetch())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                assert not b.target.exists()
            state = load_state(b.target.with_name("m.gguf.part.json"))
            assert b.left() <= {"m.gguf", "m.gguf.part", "m.gguf.part.json"}
            assert state is None or state.done == resumable_bytes(b.target)
            await discard(b.target)
            b.target.unlink(missing_ok=True)
        await b.server.settled()
        assert b.left() == set()


async def test_cancelled_in_the_wait_for_another_try_it_leaves_the_part(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        waiting = anyio.Event()

        async def sleep(_seconds: float) -> None:
            waiting.set()
            await anyio.sleep_forever()

        b.host.lies = [lambda _host, sending, _chance: setattr(sending, "cut_at", SIZE // 2)]
        async with anyio.create_task_group() as group:

            async def fetch() -> None:
                await b.fetch(sleep=sleep)

            group.start_soon(fetch)
            await waiting.wait()
            group.cancel_scope.cancel()
        assert resumable_bytes(b.target) == SIZE // 2
