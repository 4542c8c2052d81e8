import pytest

from ollm_tui.tools.runner import ToolRegistry
from tests.support.tools import ScriptedTool


def test_tools_are_kept_in_order_and_found_by_exactly_their_name() -> None:
    first, second = ScriptedTool("first"), ScriptedTool("second")
    registry = ToolRegistry([first, second])
    assert registry.list() == (first, second)
    assert registry.get("first") is first
    assert registry.get("First") is None
    assert registry.named(["second", "nowhere", "first"]) == (first, second)
    assert registry.named([]) == ()


@pytest.mark.parametrize("name", ["same", "Same"])
def test_a_taken_name_is_refused_and_the_earlier_tool_stays(name: str) -> None:
    earlier = ScriptedTool("same")
    registry = ToolRegistry([earlier])
    with pytest.raises(ValueError, match="a tool named"):
        registry.register(ScriptedTool(name))
    assert registry.list() == (earlier,)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a/b", "9a", "a" * 65, "a\n"])
def test_a_name_that_some_backend_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a tool"):
        ToolRegistry([ScriptedTool(name)])
