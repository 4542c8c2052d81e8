"""The tools that come with the app and only read, files inside one folder."""

from pathlib import Path

from ollm_tui.config.regular_file import real_path
from ollm_tui.tools.builtin.calculator import calculate
from ollm_tui.tools.builtin.clock import clock_tool
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.builtin.list_directory import listing_tool
from ollm_tui.tools.builtin.read_file import reading_tool
from ollm_tui.tools.builtin.search_files import searching_tool
from ollm_tui.tools.define import FunctionTool


def builtin_tools(root: Path, guard: FileGuard | None = None) -> tuple[FunctionTool, ...]:
    """Return the built-in tools; those for files have access to the folder `root` only.

    The guard decides what they may open; without one only known places of secrets are refused.

    Raises:
        OSError: the folder does not exist.
    """
    root.stat()
    folder, guard = real_path(root), guard or FileGuard()
    return (
        clock_tool(),
        calculate,
        reading_tool(folder, guard),
        listing_tool(folder, guard),
        searching_tool(folder, guard),
    )
