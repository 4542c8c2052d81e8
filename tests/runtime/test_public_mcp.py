"""MCP servers in programs: a tool runs after an approver's yes, once a person has read of it."""

from pathlib import Path

import pytest

from ollm_tui import AIError, ChatOptions, Runtime, ToolCallResult, open_runtime
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.known_tools import KnownTools
from ollm_tui.mcp.listing import read_tools
from ollm_tui.mcp.settings import address_of, identity_of
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.runtime.tools.toolbox import KNOWN_TOOLS
from tests.mcp.conftest import faulty, is_running, processes
from tests.runtime.test_mcp import table
from tests.runtime.test_public import Allow, Calling

ECHO: JsonObject = {
    "name": "echo",
    "description": "Say a text again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppPaths:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    paths.config_dir.mkdir()
    monkeypatch.setattr("ollm_tui.runtime.public.default_paths", lambda: paths)
    return paths


def configure(paths: AppPaths, *servers: tuple[str, str]) -> Path:
    record = paths.config_dir.parent / "record"
    text = "".join(
        table(name, mode).replace(f"'{mode}']", f"'{mode}', '{record}']") for name, mode in servers
    )
    paths.config_file.write_text(text)
    return record


async def read(paths: AppPaths, name: str, settings: McpServerSettings) -> None:
    """Note that a person has read all of a server."""
    address = address_of(settings)
    assert address is not None
    tools = read_tools([ECHO]).tools
    await KnownTools(paths.state_dir / KNOWN_TOOLS).keep(name, identity_of(address), *tools)


async def outcomes(runtime: Runtime, tools: tuple[str, ...]) -> list[tuple[str, str]]:
    runtime.add_provider(Calling())
    async with runtime.chat("Say it.", ChatOptions(tools=tools), model="calling://m") as events:
        results = [event.result async for event in events if isinstance(event, ToolCallResult)]
    return [(one.outcome, one.content) for one in results]


async def test_a_tool_that_was_read_runs_after_a_yes(paths: AppPaths) -> None:
    record = configure(paths, ("box", "ok"), ("other", "ok"))
    await read(paths, "box", faulty("ok", record))
    async with open_runtime(approver=(approver := Allow())) as runtime:
        assert processes(record) == []
        assert await outcomes(runtime, ("box__*",)) == [("done", "The tool gave no output.")]
        assert approver.asked == ["box__echo"]
        assert len(processes(record)) == 1
        assert runtime.problems == ()
    assert [one for one in processes(record) if is_running(one)] == []


async def test_what_nobody_has_read_is_not_offered_whatever_the_approver_says(
    paths: AppPaths,
) -> None:
    record = configure(paths, ("box", "ok"), ("dead", "die"))
    async with open_runtime(approver=(approver := Allow())) as runtime:
        runtime.add_provider(calling := Calling("c"))
        client = await runtime.start_chat("c://m")  # offers what the settings do
        assert (client.conversation.tools, calling.offered, approver.asked) == ((), [], [])
        assert [sentence.split(".")[0] for sentence in runtime.problems] == [
            "The MCP server dead is not running: It ended before it answered (exit code 9)",
            "box__echo is not offered",
        ]
        # a program that names it later gets no further: the approver is not even asked
        async with client.chat("Say it.", ChatOptions(tools=("box__*",))) as events:
            results = [event.result async for event in events if isinstance(event, ToolCallResult)]
        assert [one.outcome for one in results] == ["denied"]
        assert "`ollm mcp review box` shows it" in results[0].content
        assert approver.asked == []
    assert [one for one in processes(record) if is_running(one)] == []


async def test_without_an_approver_no_server_starts(paths: AppPaths) -> None:
    record = configure(paths, ("box", "ok"))
    async with open_runtime() as runtime:
        runtime.add_provider(Calling("c"))
        for names in (("box__*",), ("box__echo",)):
            with pytest.raises(AIError, match="needs an approver"):
                await runtime.start_chat("c://m", tools=names)
        with pytest.raises(AIError, match="no tool named"):
            await runtime.start_chat("c://m", tools=("nobody__echo",))
        assert (await runtime.start_chat("c://m")).conversation.tools == ()
    assert not record.exists()
