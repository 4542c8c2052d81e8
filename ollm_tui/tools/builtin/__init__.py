"""The tools that come with the app; each only reads, and files only inside one folder.

A tool that needs something (a folder, a clock) is made by a function that takes it.
"""

from pathlib import Path

from ollm_tui.config.regular_file import real_path
from ollm_tui.tools.builtin.calculator import calculate
from ollm_tui.tools.builtin.clock import clock_tool
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.builtin.listing import listing_tool
from ollm_tui.tools.builtin.reading import reading_tool
from ollm_tui.tools.builtin.searching import searching_tool
from ollm_tui.tools.define import FunctionTool


def builtin_tools(root: Path, guard: FileGuard | None = None) -> tuple[FunctionTool, ...]:
    """Give the built-in tools; those for files see the folder `root` and nothing else.

    What of it they may open the guard says; without one only known places of secrets are closed.

    Raises:
        OSError: there is no such folder.
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
