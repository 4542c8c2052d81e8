"""What is said of tools."""

from types import SimpleNamespace

from ollm_tui.frontend.tool_text import missing_tools


def test_tools_of_a_saved_chat_that_are_gone_are_named() -> None:
    tools = (SimpleNamespace(name="clock"),)
    assert missing_tools((), lambda: tools) is None
    assert missing_tools(("clock",), lambda: tools) is None
    line = missing_tools(("clock", "shell\u202e", *"abcdef"), lambda: tools)
    assert line == (
        "This chat had tools that are no longer available: shell⟦U+202E⟧, a, b, c, d and 2 more."
    )
