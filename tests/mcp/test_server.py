"""A server and its life: what it does wrong stays with it, and no process outlives it."""

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.listing import MAX_TOOLS, ToolDefinition
from ollm_tui.mcp.server import McpServer
from ollm_tui.tools.define import ToolFailure
from tests.mcp.conftest import Running, faulty, is_running, processes


async def test_a_server_lists_its_tools_and_runs_calls(running: Running) -> None:
    async with running("ok") as box:
        await box.until("ready")
        assert (box.server.about, box.server.problem) == ("faults 1", "")
        output = await box.server.call(box.tool(), {"text": "hello"})
        assert (output.content, output.is_error) == ("hello", False)


async def test_a_server_that_dies_at_the_start_is_started_again_and_then_given_up(
    running: Running, record: Path
) -> None:
    async with running("die", pauses_s=(0.0, 0.0)) as box:
        await box.until("failed")
        assert len(processes(record)) == 3
        assert "exit code 9" in box.server.problem
        assert "no key is set" in box.server.log.tail(50)
        with pytest.raises(ToolFailure, match="is not running"):
            await box.server.call(_any_tool(), {})


def _any_tool() -> ToolDefinition:
    return ToolDefinition("echo", "", {"type": "object"})


async def test_one_that_dies_during_a_call_gives_one_error_and_is_started_again(
    running: Running, record: Path
) -> None:
    async with running("exit_in_call", pauses_s=(0.0,)) as box:
        await box.until("ready")
        with pytest.raises(ToolFailure, match=r"ended during the call \(exit code 9\)"):
            await box.server.call(box.tool(), {})
        await box.until("ready", times=2)
        assert box.server.definition("echo") is not None
        # the second process has a child of its own: both of the first one are gone
        assert [is_running(one) for one in processes(record)[:2]] == [False, False]


async def test_one_that_is_killed_between_calls_is_started_again(
    running: Running, record: Path
) -> None:
    async with running("ok", pauses_s=(0.0,)) as box:
        await box.until("ready")
        os.kill(processes(record)[0], signal.SIGKILL)
        await box.until("ready", times=2)
        assert (await box.server.call(box.tool(), {"text": "again"})).content == "again"


async def test_one_that_closes_its_output_counts_as_ended(running: Running) -> None:
    async with running("close_stdout") as box:
        await box.until("ready")
        with pytest.raises(ToolFailure, match="ended during the call"):
            await box.server.call(box.tool(), {})
        await box.until("failed")


@pytest.mark.parametrize("mode", ["silent", "hang_list"])
async def test_one_that_hangs_at_the_start_is_given_up_in_time(mode: str, running: Running) -> None:
    async with running(mode, start_timeout_s=0.5) as box:
        await box.until("failed")
        assert "did not start within 0.5 s" in box.server.problem


async def test_a_call_that_hangs_has_a_limit_and_the_server_is_told(
    running: Running, record: Path
) -> None:
    async with running("hang_call", call_timeout_s=0.3) as box:
        await box.until("ready")
        with pytest.raises(
            ToolFailure, match=r"^Stopped: the MCP server \w+ took longer than 0\.3 s\.$"
        ):
            await box.server.call(box.tool(), {})
        await _until_recorded(record, "notifications/cancelled")


async def test_a_cancelled_call_ends_at_once_and_the_server_is_told(
    running: Running, record: Path
) -> None:
    async with running("hang_call") as box:
        await box.until("ready")
        with anyio.move_on_after(0.2) as scope:
            await box.server.call(box.tool(), {})
        assert scope.cancelled_caught
        await _until_recorded(record, "notifications/cancelled")
        assert box.server.state == "ready"


async def _until_recorded(record: Path, text: str) -> None:
    with anyio.fail_after(10):
        while text not in record.read_text():
            await anyio.sleep(0.01)


async def test_bad_bytes_and_a_banner_are_no_end(running: Running) -> None:
    async with running("bad_bytes") as box:
        await box.until("ready")
        assert (await box.server.call(box.tool(), {})).content == "a\ufffd\ufffdb"
    async with running("banner") as box:
        await box.until("ready")
        assert "Not a message: Welcome to the server!" in box.server.log.tail(5)


async def test_an_answer_that_is_too_long_is_an_error_at_once(running: Running) -> None:
    async with running("huge") as box:
        await box.until("ready")
        with anyio.fail_after(10), pytest.raises(ToolFailure, match="longer than 4"):
            await box.server.call(box.tool(), {})
        assert box.server.state == "ready"


@pytest.mark.parametrize("mode", ["wrong_id", "flood", "error_flood", "sampling"])
async def test_what_nobody_asked_for_changes_nothing(
    mode: str, running: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    async with running(mode) as box:
        await box.until("ready")
        with anyio.fail_after(30):
            assert (await box.server.call(box.tool(), {"text": "x"})).content == "x"
        assert sum(map(len, box.server.log.tail(10**6))) <= 260_000
    assert capfd.readouterr() == ("", "")


async def test_requests_of_a_server_are_refused_and_nobody_is_asked(
    running: Running, record: Path
) -> None:
    async with running("sampling") as box:
        await box.until("ready")
        await box.server.call(box.tool(), {})
        for request in ("s1", "s2", "s3"):
            await _until_recorded(record, f'"id":"{request}","error"')
    assert '"sampling"' not in record.read_text().splitlines()[1]  # nor offered


async def test_a_malformed_answer_is_an_error(running: Running) -> None:
    async with running("malformed") as box:
        await box.until("ready")
        with pytest.raises(ToolFailure, match="malformed"):
            await box.server.call(box.tool(), {})


async def test_a_line_without_end_holds_up_only_its_call(running: Running) -> None:
    async with running("no_line_end", call_timeout_s=1.0) as box:
        await box.until("ready")
        with pytest.raises(ToolFailure, match="took longer"):
            await box.server.call(box.tool(), {})


async def test_bad_tools_are_left_out_with_a_reason_and_the_others_work(running: Running) -> None:
    async with running("bad_tools") as box:
        await box.until("ready")
        assert [tool.name for tool in box.server.listed.tools] == ["echo", "odd name\u202e"]
        assert len(box.server.listed.refused) == 6
        assert "longer than 16,384 characters" in " ".join(box.server.listed.refused)


async def test_thousands_of_tools_and_endless_pages_are_cut(running: Running, record: Path) -> None:
    async with running("many") as box:
        await box.until("ready")
        assert len(box.server.listed.tools) == MAX_TOOLS
    async with running("pages") as box:
        await box.until("ready")
        assert record.read_text().count("page ") == len(box.server.listed.tools) == 50


async def test_a_changed_list_is_followed_and_the_old_description_cannot_be_called(
    running: Running,
) -> None:
    async with running("change") as box:
        await box.until("ready")
        before = box.tool()
        await box.server.call(before, {})
        await box.until("ready", times=2)
        assert box.tool().fingerprint != before.fingerprint
        with pytest.raises(ToolFailure, match="has changed this tool"):
            await box.server.call(before, {})


async def test_the_environment_is_a_fixed_list_with_what_the_settings_name(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "sk-planted")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    async with running("environment", env={"OWN_TOKEN": "given"}) as box:
        await box.until("ready")
        seen = (await box.server.call(box.tool(), {})).content
    assert "sk-planted" not in seen
    assert "OWN_TOKEN=given" in seen.splitlines()


async def test_a_server_that_ignores_its_end_and_its_children_is_killed(
    running: Running, record: Path
) -> None:
    for mode in ("ignore_term", "child"):
        async with running(mode) as box:
            await box.until("ready")
    assert len(processes(record)) == 3  # all are gone, as the fixture checks


async def test_switching_off_and_on_starts_it_anew(running: Running, record: Path) -> None:
    async with running("ok") as box:
        await box.until("ready")
        box.server.switch(is_on=False)
        await box.until("off")
        assert box.server.definition("echo") is None
        assert not is_running(processes(record)[0])
        box.server.switch(is_on=True)
        await box.until("ready", times=2)


@pytest.mark.parametrize("values", [{}, {"command": "x", "url": "http://a"}, {"url": "ftp://a"}])
async def test_settings_without_one_way_to_it_are_refused_with_a_sentence(
    values: dict[str, Any],
) -> None:
    server = McpServer("box", "box", McpServerSettings(**values))
    await _until_failed(server)
    assert "either `command` or `url`" in server.problem


async def test_a_program_that_does_not_exist_is_named() -> None:
    server = McpServer("box", "box", McpServerSettings(command="not-there-x"))
    await _until_failed(server)
    assert server.problem == "The program not-there-x does not exist or cannot be run."


async def _until_failed(server: McpServer) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(server.run)
        with anyio.fail_after(10):
            while server.state != "failed":
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("round", range(100))
async def test_storms_of_starts_and_stops_leave_nothing(round: int, record: Path) -> None:
    from tests.mcp.conftest import Watched

    watched = Watched(faulty("child", record), (0.0,))
    async with anyio.create_task_group() as group:
        group.start_soon(watched.server.run)
        for step in range(10):
            await anyio.sleep(0.003 * ((round * 7 + step * 3) % 11))
            watched.server.switch(is_on=step % 3 != 1)
        group.cancel_scope.cancel()
    assert [one for one in processes(record) if is_running(one)] == []
