"""Commands that do not want to end: a hundred of them, each ended whole and in time."""

import time
from pathlib import Path

import anyio
import pytest

from tests.shell.test_command import Place, linux
from tests.support.pty_session import wait_until

LIMIT_S = 1.0
LATE_S = 3.0
KINDS = {
    "sleep": "sleep 300",
    "forks": "f() { [ $1 -eq 0 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; sleep 300; }; f 4",
    "yes": "yes",
    "10 GB": "head -c 10000000000 /dev/zero",
    "holds the pipe": "(sleep 300 &) ; exit 0",
    "setsid": "setsid sh -c 'sleep 300' & setsid sleep 300 & sleep 300",
    "double fork": "(setsid sh -c '(sleep 300 &) ; sleep 300' &) ; sleep 300",
    "ignores TERM": "trap '' TERM HUP INT; while :; do sleep 300; done",
    "reads stdin": "cat; read x; cat /dev/tty; sleep 300",
    "stops itself": "kill -STOP $$; sleep 300",
}
EACH = 10


@linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_a_runaway_ends_in_time_and_whole(tmp_path: Path, kind: str) -> None:
    place = Place(tmp_path)
    took: list[float] = []

    async def one() -> None:
        begun = time.monotonic()
        result = await place.run(KINDS[kind], timeout_s=LIMIT_S)
        took.append(time.monotonic() - begun)
        assert len(result.output) < 40_000

    async with anyio.create_task_group() as group:
        for _number in range(EACH):
            group.start_soon(one)
    assert len(took) == EACH
    assert max(took) < LIMIT_S + LATE_S + 1.0  # ten at once, on a busy machine
    wait_until(lambda: not place.left(), 5)


@linux
@pytest.mark.slow
async def test_a_flood_takes_no_memory(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.run("yes", timeout_s=0.3)
    before = _resident()
    result = await place.run("yes", timeout_s=2.0)
    assert result.end == "timeout"
    assert _resident() - before < 20_000_000


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
