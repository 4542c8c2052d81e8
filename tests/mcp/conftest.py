"""Servers of the fault program, running, and what they leave behind."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.requests import ClientSide
from ollm_tui.mcp.server import McpServer, ServerState
from ollm_tui.sections.section import Secret

PROGRAM = Path(__file__).parents[1] / "support" / "mcp_faults.py"
TIMEOUT_S = 20.0
Running: TypeAlias = Callable[..., AbstractAsyncContextManager["Watched"]]


def faulty(mode: str, record: Path | None = None, **values: Any) -> McpServerSettings:
    """Give the settings of a server that does one thing wrong."""
    args = ["-I", str(PROGRAM), mode, *([str(record)] if record else [])]
    env = {name: Secret(value) for name, value in values.pop("env", {}).items()}
    return McpServerSettings(command=sys.executable, args=args, env=env, **values)


def processes(record: Path) -> list[int]:
    """Give the processes that a server reported."""
    lines = record.read_text().splitlines() if record.exists() else []
    return [int(line.removeprefix("pid ")) for line in lines if line.startswith("pid ")]


def is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    return False


class Watched:
    """A server with the states that it was in."""

    def __init__(
        self,
        settings: McpServerSettings,
        pauses_s: tuple[float, ...],
        client: ClientSide | None = None,
    ) -> None:
        self.states: list[ServerState] = []
        self._seen = anyio.Event()
        self.server = McpServer(
            "box", "box", settings, self._note, pauses_s=pauses_s, client=client
        )

    def _note(self) -> None:
        self.states.append(self.server.state)
        self._seen.set()
        self._seen = anyio.Event()

    async def until(self, state: ServerState, *, times: int = 1) -> None:
        with anyio.fail_after(TIMEOUT_S):
            while self.states.count(state) < times:
                await self._seen.wait()

    def tool(self, name: str = "echo") -> Any:
        definition = self.server.definition(name)
        assert definition is not None
        return definition


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def running(record: Path) -> Running:
    """Run a server of a mode; at the end none of its processes may be left."""

    @asynccontextmanager
    async def run(
        mode: str,
        pauses_s: tuple[float, ...] = (),
        client: ClientSide | None = None,
        **values: Any,
    ) -> AsyncIterator[Watched]:
        watched = Watched(faulty(mode, record, **values), pauses_s, client)
        async with anyio.create_task_group() as group:
            group.start_soon(watched.server.run)
            try:
                yield watched
            finally:
                group.cancel_scope.cancel()
        assert [one for one in processes(record) if is_running(one)] == []

    return run


@pytest.fixture(autouse=True)
def no_open_descriptors() -> Iterator[None]:
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    yield
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before + 1
