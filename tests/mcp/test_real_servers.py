"""Real MCP servers, unchanged: listed, called, followed, cancelled, killed and started again.

`make test-mcp` installs them; what is not installed is skipped with the reason.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.servers import McpServers, open_servers
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.sections.section import Secret
from ollm_tui.tools.define import ToolFailure
from tests.mcp.conftest import is_running
from tests.mcp.test_reading import SCOPE
from tests.support.http_server import Received, Reply, in_thread
from tests.support.real_mcp import ROOT, missing, program

pytestmark = [pytest.mark.real_mcp, pytest.mark.slow]
TIMEOUT_S = 60.0
SERVERS: dict[str, tuple[str, set[str]]] = {
    "time": ("mcp-server-time", {"get_current_time", "convert_time"}),
    "git": ("mcp-server-git", {"git_status", "git_log", "git_commit"}),
    "fetch": ("mcp-server-fetch", {"fetch"}),
    "sqlite": ("mcp-server-sqlite", {"read_query", "write_query", "create_table"}),
    "files": ("mcp-server-filesystem", {"read_text_file", "write_file", "list_directory"}),
    "everything": ("mcp-server-everything", {"echo", "trigger-long-running-operation"}),
    "memory": ("mcp-server-memory", {"create_entities", "read_graph", "search_nodes"}),
}
"""The program of each, and some of its tools."""


def settings_of(name: str, folder: Path) -> McpServerSettings:
    command, _ = SERVERS[name]
    if reason := missing(command):
        pytest.skip(reason)
    args = {
        "sqlite": ["--db-path", str(folder / "test.db")],
        "files": [str(folder)],
        "fetch": ["--allow-private-ips"],  # the page is served here
    }
    env = {
        "MEMORY_FILE_PATH": Secret(str(folder / "memory.json")),
        "NO_PROXY": Secret("127.0.0.1"),
    }
    if name == "fetch":
        # With Node.js it has npm install an extractor at the first page in HTML, and answers
        # nothing meanwhile. Without it takes its own.
        env["PATH"] = Secret(str(folder / "programs"))
    return McpServerSettings(
        command=str(program(command)),
        args=args.get(name, []),
        env=env,
        start_timeout_s=TIMEOUT_S,
        call_timeout_s=TIMEOUT_S,
    )


@asynccontextmanager
async def started(name: str, folder: Path) -> AsyncIterator[McpServers]:
    """Run a server; at the end none of its processes may be left."""
    tree: set[int] = set()
    async with open_servers({name: settings_of(name, folder)}, folder / "known.json") as servers:
        servers.start()
        with anyio.fail_after(TIMEOUT_S):
            await servers.settled([name])
        server = servers.all[name]
        assert server.state == "ready", (server.problem, server.log.tail(20))
        tree |= processes_of(server)
        yield servers
        tree |= processes_of(server)
    assert [one for one in tree if is_running(one)] == []


def processes_of(server: McpServer) -> set[int]:
    """Return the program of a server and all that it started."""
    connection = server._connection
    if connection is None or connection.process is None:
        return set()
    found, new = set[int](), [connection.process._popen.pid]
    while new:
        process = new.pop()
        found.add(process)
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            new += [int(one) for one in file.read_text().split()]
    return found


async def run(
    servers: McpServers, tool: str, show: Callable[[str], None] = lambda _text: None, **args: Any
) -> ToolOutput:
    (name,) = servers.all
    (found,) = [one for one in servers.tools() if one.schema.name == f"{name}__{tool}"]
    call = await found.prepare(args, replace(SCOPE, show=show))
    assert call.preview.may_last == (not call.preview.unread)
    return await call.run(args)


@pytest.mark.parametrize("name", SERVERS)
async def test_each_lists_its_tools_and_ends_with_us(name: str, tmp_path: Path) -> None:
    async with started(name, tmp_path) as servers:
        server = servers.all[name]
        assert {tool.name for tool in server.listed.tools} >= SERVERS[name][1]
        assert server.listed.refused == ()
        assert server.about


async def test_time(tmp_path: Path) -> None:
    async with started("time", tmp_path) as servers:
        said = await run(servers, "get_current_time", timezone="Europe/Oslo")
        assert json.loads(said.content)["timezone"] == "Europe/Oslo"
        wrong = await run(servers, "get_current_time", timezone="Nowhere/Town")
        assert wrong.is_error


async def test_git(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", "-C", str(tmp_path), *name, *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a.txt").write_text("one\n")
    git("add", "a.txt")
    git("commit", "-qm", "The first of all")
    (tmp_path / "a.txt").write_text("two\n")
    async with started("git", tmp_path) as servers:
        assert "a.txt" in (await run(servers, "git_status", repo_path=str(tmp_path))).content
        changed = await run(servers, "git_diff_unstaged", repo_path=str(tmp_path))
        assert "-one\n+two" in changed.content
        log = await run(servers, "git_log", repo_path=str(tmp_path), max_count=1)
        assert "The first of all" in log.content


async def answer(request: Received, reply: Reply) -> None:
    """Give a page, or hold a request for ever."""
    match request.path:
        case "/robots.txt":
            await reply.whole(b"", 404)
        case "/silent":
            await anyio.sleep_forever()
        case "/page":
            page = b"<title>Rivers</title><body><h1>Danube</h1><p>It is long.</p></body>"
            await reply.whole(page, 200, "text/html")
        case _:
            await reply.whole(b"The Danube is long.", 200, "text/plain")


@pytest.fixture
def pages() -> Iterator[str]:
    with in_thread(answer) as served:
        yield served.url


async def test_fetch(tmp_path: Path, pages: str) -> None:
    async with started("fetch", tmp_path) as servers:
        assert "The Danube is long." in (await run(servers, "fetch", url=f"{pages}/a")).content
        assert "It is long." in (await run(servers, "fetch", url=f"{pages}/page")).content
        refused = await run(servers, "fetch", url="http://127.0.0.1:9/")
        assert refused.is_error


async def test_fetch_whose_npm_hangs_is_one_sentence_and_leaves_no_process(
    tmp_path: Path, pages: str
) -> None:
    """Its extractor is installed by npm at the first page in HTML, which may wait for a network."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, asked, version in (("node", "-v", "v22.0.0"), ("npm", "version", "10.0.0")):
        script = f'PATH=/usr/bin:/bin\n[ "$1" = {asked} ] && echo {version} || sleep 600'
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    async with started("fetch", tmp_path) as servers:
        server = servers.all["fetch"]
        server.timing = replace(server.timing, call_s=2.0)
        with anyio.fail_after(TIMEOUT_S), pytest.raises(ToolFailure) as caught:
            await run(servers, "fetch", url=f"{pages}/page")
        assert str(caught.value) == "Stopped: the MCP server fetch took longer than 2 s."
        assert len(processes_of(server)) > 2


async def test_sqlite(tmp_path: Path) -> None:
    async with started("sqlite", tmp_path) as servers:
        await run(servers, "create_table", query="CREATE TABLE cats (name TEXT, age INTEGER)")
        await run(servers, "write_query", query="INSERT INTO cats VALUES ('Tom', 7)")
        read = await run(servers, "read_query", query="SELECT name, age FROM cats")
        assert "Tom" in read.content
        refused = await run(servers, "read_query", query="DROP TABLE cats")
        assert "Error" in refused.content or refused.is_error
    assert (tmp_path / "test.db").exists()


async def test_files(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("no")
    async with started("files", root) as servers:
        await run(servers, "write_file", path=str(root / "a.txt"), content="hello\n")
        assert (root / "a.txt").read_text() == "hello\n"
        read = await run(servers, "read_text_file", path=str(root / "a.txt"))
        assert "hello" in read.content
        refused = await run(servers, "read_text_file", path=str(tmp_path / "outside.txt"))
        assert refused.is_error


async def test_memory(tmp_path: Path) -> None:
    entity = {"name": "Tom", "entityType": "cat", "observations": ["sleeps"]}
    async with started("memory", tmp_path) as servers:
        await run(servers, "create_entities", entities=[entity])
    async with started("memory", tmp_path) as servers:  # kept in its file
        assert "sleeps" in (await run(servers, "search_nodes", query="Tom")).content


async def test_everything_texts_pictures_and_progress(tmp_path: Path) -> None:
    async with started("everything", tmp_path) as servers:
        assert "hi there" in (await run(servers, "echo", message="hi there")).content
        drawn = await run(servers, "get-tiny-image")
        assert [block.mime_type for block in drawn.media] == ["image/png"]  # type: ignore[union-attr]
        shown: list[str] = []
        operation = "trigger-long-running-operation"
        done = await run(servers, operation, shown.append, duration=1, steps=4)
        assert "completed" in done.content.lower()
        assert [re.match(r"\d of 4", one) is not None for one in shown] == [True] * len(shown)
        assert len(shown) >= 3


async def test_everything_prompts_and_resources(tmp_path: Path) -> None:
    async with started("everything", tmp_path) as servers:
        server = servers.all["everything"]
        with anyio.fail_after(TIMEOUT_S):
            while not server.catalogue.prompts:  # read once it is ready
                await anyio.sleep(0.05)
        names = {one.name for one in server.catalogue.prompts}
        assert "args-prompt" in names
        (words,) = await server.prompt("args-prompt", {"city": "Oslo"})
        assert isinstance(words, str)
        assert "Oslo" in words
        resource = server.catalogue.resources[0]
        assert await server.resource(resource.uri)
        assert server.catalogue.templates


async def test_a_cancelled_call_ends_at_once_and_the_server_goes_on(tmp_path: Path) -> None:
    async with started("everything", tmp_path) as servers:
        began = anyio.current_time()
        with anyio.move_on_after(0.5) as scope:
            await run(servers, "trigger-long-running-operation", duration=600, steps=10)
        assert scope.cancelled_caught
        assert anyio.current_time() - began < 0.7
        assert "still here" in (await run(servers, "echo", message="still here")).content


@pytest.mark.parametrize(
    ("name", "tool", "args"),
    [
        ("everything", "trigger-long-running-operation", {"duration": 600, "steps": 10}),
        ("fetch", "fetch", {}),
    ],
)
async def test_one_that_is_killed_in_mid_call_is_an_error_and_starts_again(
    name: str, tool: str, args: dict[str, Any], tmp_path: Path, pages: str
) -> None:
    if name == "fetch":
        args = {"url": f"{pages}/silent"}
    async with started(name, tmp_path) as servers:
        server, failures = servers.all[name], list[str]()

        async def call() -> None:
            try:
                await run(servers, tool, **args)
            except ToolFailure as failure:
                failures.append(str(failure))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.sleep(0.5)
            for process in processes_of(server) - {server._connection.process._popen.pid}:  # type: ignore[union-attr]
                os.kill(process, signal.SIGKILL)
            with anyio.fail_after(TIMEOUT_S):
                while not failures:
                    await anyio.sleep(0.01)
        assert "ended during the call (signal 9)" in failures[0]
        with anyio.fail_after(TIMEOUT_S):
            while server.state != "ready":
                await anyio.sleep(0.05)
        assert {one.name for one in server.listed.tools} >= SERVERS[name][1]


@pytest.mark.parametrize("name", SERVERS)
async def test_the_inspector_lists_the_same_tools(name: str, tmp_path: Path) -> None:
    if reason := missing("mcp-inspector"):
        pytest.skip(reason)
    settings = settings_of(name, tmp_path)
    env = {key: value.get_secret_value() for key, value in settings.env.items()}
    # the inspector needs its Node.js, whatever the server finds
    places = [one for one in (env.get("PATH"), os.environ["PATH"]) if one]
    env["PATH"] = os.pathsep.join(places)
    done = await anyio.to_thread.run_sync(
        lambda: subprocess.run(
            [
                str(program("mcp-inspector")),
                "--cli",
                str(settings.command),
                *settings.args,
                "--method",
                "tools/list",
            ],
            capture_output=True,
            env={**os.environ, **env},
            timeout=TIMEOUT_S,
            check=True,
        )
    )
    listed = {tool["name"]: tool for tool in json.loads(done.stdout)["tools"]}
    async with started(name, tmp_path) as servers:
        ours = {tool.name: tool for tool in servers.all[name].listed.tools}
    ours = {tool: definition for tool, definition in ours.items() if tool not in DEPENDING}
    assert ours.keys() == listed.keys() - DEPENDING
    for tool, definition in ours.items():
        assert definition.description == listed[tool].get("description", "")
        assert definition.parameters["properties"] == listed[tool]["inputSchema"]["properties"]


DEPENDING = {
    "get-roots-list",
    "trigger-sampling-request",
    "trigger-sampling-request-async",
    "trigger-elicitation-request",
    "trigger-elicitation-request-async",
    "trigger-url-elicitation",
}
"""Tools that `server-everything` lists only for clients that take its requests."""
CONFORMANCE = (
    "initialize",
    "tools_call",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/resource-mismatch",
)
"""Not metadata-var2 and var3, in which a server names another issuer than the one asked for."""


@pytest.mark.parametrize("scenario", CONFORMANCE)
def test_the_conformance_tests_of_the_protocol_agree(scenario: str) -> None:
    if reason := missing("conformance"):
        pytest.skip(reason)
    client = f"{sys.executable} -P -m tests.support.mcp_conformance_client"
    done = subprocess.run(
        [str(program("conformance")), "client", "--command", client, "--scenario", scenario],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MCP_CONFORMANCE_SCENARIO": scenario},
        timeout=TIMEOUT_S,
        check=False,
    )
    assert " 0 failed, 0 warnings" in done.stdout + done.stderr, done.stderr[-2_000:]
