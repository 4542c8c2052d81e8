import pytest

from ollm_tui.tools.registry import ToolRegistry
from tests.support.tools import ScriptedTool


def test_tools_are_kept_in_order_and_found_by_exactly_their_name() -> None:
    first, second = ScriptedTool("first"), ScriptedTool("second")
    registry = ToolRegistry([first, second])
    assert registry.list() == (first, second)
    assert registry.get("first") is first
    assert registry.get("First") is None
    assert registry.schemas() == (first.schema, second.schema)


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


def test_only_what_is_switched_on_is_offered() -> None:
    registry = ToolRegistry([ScriptedTool("a"), ScriptedTool("b")])
    registry.register(ScriptedTool("c"), enabled=False)
    assert registry.enabled == {"a", "b"}
    registry.enable(["c", "b"])
    assert [schema.name for schema in registry.schemas()] == ["b", "c"]
    assert [schema.name for schema in registry.schemas(["a", "c", "nowhere"])] == ["c"]
    assert registry.schemas([]) == ()
    assert registry.get("a") is not None


def test_switching_on_an_unknown_tool_changes_nothing() -> None:
    registry = ToolRegistry([ScriptedTool("a")])
    with pytest.raises(ValueError, match="no tool named x, y; there are: a"):
        registry.enable(["a", "x", "y"])
    assert registry.enabled == {"a"}
