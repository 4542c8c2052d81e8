import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ollm_tui.tools.builtin import builtin_tools
from ollm_tui.tools.registry import ToolRegistry
from tests.tools.builtin.files import use

if TYPE_CHECKING:
    from ollm_tui.protocol.ports import Tool


def test_the_built_in_tools_only_read_and_describe_all_they_take(tmp_path: Path) -> None:
    tools: tuple[Tool, ...] = builtin_tools(tmp_path)
    assert [tool.schema.name for tool in tools] == [
        "current_time",
        "calculate",
        "read_file",
        "list_directory",
        "search_files",
    ]
    assert {tool.effect for tool in tools} == {"read"}
    for tool in tools:
        assert tool.schema.description
        assert tool.schema.parameters
        properties = tool.schema.parameters["properties"]
        assert isinstance(properties, dict)
        assert all(isinstance(p, dict) and p.get("description") for p in properties.values())
    assert len(ToolRegistry(tools).list()) == 5


def test_without_the_folder_there_are_no_tools(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        builtin_tools(tmp_path / "gone")


async def test_the_root_may_be_given_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("text")
    (tmp_path / "link").symlink_to("real")
    assert await use(tmp_path / "link", "read_file", path="a.txt") == "text"


def test_importing_the_tools_loads_neither_jsonschema_nor_regex() -> None:
    code = "import ollm_tui.tools.builtin, ollm_tui.tools.runner, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"jsonschema", "regex", "referencing"} & set(loaded) == set()
