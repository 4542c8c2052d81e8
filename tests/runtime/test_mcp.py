"""Servers of the settings in a runtime: offered and run once they are started, and not before."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.runtime.compose import Runtime, load_runtime
from ollm_tui.tools.runner import ToolRunner
from tests.support.tools import AllowAll

FAULTS = Path(__file__).parents[1] / "support" / "mcp_faults.py"


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))


def configure(paths: AppPaths, text: str) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text(text)


def table(name: str, mode: str = "ok") -> str:
    args = ", ".join(f"'{one}'" for one in ("-I", str(FAULTS), mode))
    return f"[mcp_servers.{name}]\ncommand = '{sys.executable}'\nargs = [{args}]\n"


async def started(runtime: Runtime, name: str) -> None:
    assert runtime.mcp is not None
    runtime.mcp.start()
    with anyio.fail_after(30):
        while runtime.mcp.all[name].state != "ready":
            await anyio.sleep(0.01)


async def test_a_chat_offers_the_tools_of_a_server_once_it_has_started(paths: AppPaths) -> None:
    configure(paths, table("box") + table("silent", "silent"))
    async with load_runtime(Flags(), {}, paths)() as runtime:
        tools = runtime.new_client("m").conversation.tools
        assert tools == ("box__*", "silent__*")
        assert runtime.tools.named(tools) == ()
        await started(runtime, "box")  # the one that hangs holds up nothing
        runner = ToolRunner(runtime.tools, approver := AllowAll())
        offer = runner.offer(tools)
        assert [schema.name for schema in offer.schemas] == ["box__echo"]
        result = await offer.run(ToolCall(id="c1", name="box__echo", args={"text": "hi"}))
        assert (result.content, result.outcome) == ("hi", "done")
        assert len(approver.asked) == 1
        wrong = await offer.run(ToolCall(id="c2", name="box__echo", args={"text": 5}))
        assert wrong.is_error
        assert len(approver.asked) == 1


async def test_what_names_its_tools_offers_no_others(paths: AppPaths) -> None:
    profile = '[profiles.p]\ntools = ["calculate"]\n[profiles.all]\ntools = ["box__echo"]\n'
    configure(paths, table("box") + profile)
    for flags, tools in (
        (Flags(tools=("calculate",)), ("calculate",)),
        (Flags(profile="p"), ("calculate",)),
        (Flags(profile="all"), ("box__echo",)),
        (Flags(), ("box__*",)),
    ):
        async with load_runtime(flags, {}, paths)() as runtime:
            assert runtime.new_client("m").conversation.tools == tools
            assert runtime.problems == ()


OPENING = """
import anyio, sys
from pathlib import Path
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.compose import load_runtime
home = Path(sys.argv[1])
paths = AppPaths(*(home / kind for kind in ("config", "data", "state", "cache")))
async def main():
    async with load_runtime(Flags(), {}, paths)() as runtime:
        assert len(runtime.mcp.all) == 10
        print({name.partition(".")[0] for name in sys.modules} & {"mcp", "mcp_types", "httpx2"})
anyio.run(main)
"""


def test_ten_servers_cost_the_start_neither_a_process_nor_the_package(paths: AppPaths) -> None:
    record = paths.config_dir.parent / "record"
    configure(paths, "".join(table(f"s{number}") for number in range(10)))
    text = paths.config_file.read_text().replace("'ok'", f"'ok', '{record}'")
    paths.config_file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", OPENING, str(paths.config_dir.parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"
    assert not record.exists()


def test_a_folder_with_servers_of_its_own_starts_none(tmp_path: Path, paths: AppPaths) -> None:
    for name in (".mcp.json", "mcp.json", "ollm.toml", "config.toml", ".ollm/config.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"mcpServers": {"evil": {"command": "evil"}}}')

    async def servers() -> object:
        async with load_runtime(Flags(), {}, paths)() as runtime:
            return runtime.mcp

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert anyio.run(servers) is None
