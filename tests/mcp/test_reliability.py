"""Many deaths, hangs and floods of servers: each costs its own call, and nothing else waits."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.mcp.servers import McpServers, open_servers
from ollm_tui.tools.define import ToolFailure
from tests.mcp.conftest import Running, faulty, is_running, processes

ERROR_WITHIN_S = 10.0
"""Measured: below 0.1 s. The bound is for a busy machine; one that hangs meets no bound."""
END_WITHIN_S = 5.0
MAX_STALL_S = 1.0
"""Measured: below 0.1 s. What the SDK does by itself with such lines takes many seconds."""
BEAT_S = 0.01


@asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """Note how late the loop comes to a task that wants to run all the time."""
    late: list[float] = []

    async def beat() -> None:
        while True:
            began = anyio.current_time()
            await anyio.sleep(BEAT_S)
            late.append(anyio.current_time() - began - BEAT_S)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        yield late
        group.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "deaths"), [("exit_in_call", 50), ("close_stdout", 10), ("hang_call", 40)]
)
async def test_every_death_is_one_error_and_another_server_goes_on(
    mode: str, deaths: int, running: Running, record: Path, tmp_path: Path
) -> None:
    errors = 0
    known = tmp_path / "known.json"
    async with (
        open_servers({"well": faulty("ok")}, known) as others,
        running(mode, pauses_s=(0.0,) * deaths) as box,
    ):
        others.start()
        await others.settled(["well"])
        well = others.all["well"]
        echo = well.definition("echo")
        assert echo is not None
        for number in range(1, deaths + 1):
            await box.until("ready", times=number)
            with anyio.fail_after(ERROR_WITHIN_S), pytest.raises(ToolFailure, match="ended"):
                async with anyio.create_task_group() as group:
                    if mode == "hang_call":  # killed in the middle of a call
                        group.start_soon(_kill_in_call, record, number)
                    try:
                        await box.server.call(box.tool(), {"text": f"call {number}."})
                    except ToolFailure as failure:
                        errors += 1
                        failed = failure
                    group.cancel_scope.cancel()
                raise failed
            assert (await well.call(echo, {"text": str(number)})).content == str(number)
        assert well.state == "ready"
    assert errors == deaths


async def _kill_in_call(record: Path, number: int) -> None:
    while f"call {number}." not in record.read_text():
        await anyio.sleep(0.002)
    os.kill(processes(record)[-1], signal.SIGKILL)


@pytest.mark.slow
async def test_servers_that_hang_and_ignore_their_end_are_ended_all_at_once(
    tmp_path: Path,
) -> None:
    modes = ("silent", "hang_list", "ignore_term", "hang_call", "silent")
    records = [tmp_path / f"record{number}" for number in range(len(modes))]
    settings = {
        f"box{number}": faulty(mode, record)
        for number, (mode, record) in enumerate(zip(modes, records, strict=True))
    }
    async with open_servers(settings, tmp_path / "known.json") as servers:
        servers.start()
        await _all_began(servers, records)
        began = anyio.current_time()
    assert anyio.current_time() - began < END_WITHIN_S
    assert [one for file in records for one in processes(file) if is_running(one)] == []


async def _all_began(servers: McpServers, records: list[Path]) -> None:
    """Wait until each has read its first message, and those that can be are ready."""
    with anyio.fail_after(30):
        while not all(file.exists() and "initialize" in file.read_text() for file in records):
            await anyio.sleep(0.01)
        await servers.settled(["box2", "box3"])
    assert [servers.all[name].state for name in ("box2", "box3")] == ["ready", "ready"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [*("bad_bytes", "banner", "wrong_id", "huge", "no_line_end", "flood", "error_flood", "pages")],
)
async def test_what_a_server_writes_holds_up_nothing_else(
    mode: str, running: Running, record: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with heartbeat() as late, running(mode, call_timeout_s=2.0) as box:
        await box.until("ready")
        with anyio.fail_after(30):
            try:
                await box.server.call(box.server.listed.tools[0], {"text": "x"})
            except ToolFailure:
                assert mode in {"huge", "no_line_end"}
        assert record.read_text().count("page ") <= 50
        assert sum(map(len, box.server.log.tail(10**6))) <= 260_000
    assert max(late) < MAX_STALL_S
    assert capfd.readouterr() == ("", "")
