import pytest

from ollm_tui.protocol.tools import Approval, ToolEffect
from ollm_tui.tools.runner import ReadOnly
from tests.support.tools import ScriptedTool, tool_call


async def test_what_only_reads_is_allowed() -> None:
    approval = await ReadOnly().approve(tool_call(), ScriptedTool())
    assert approval == Approval(allowed=True)


@pytest.mark.parametrize(
    ("effect", "would"),
    [("write", "change files"), ("run", "run programs"), ("network", "use the network")],
)
async def test_anything_else_is_refused_with_what_it_would_do(
    effect: ToolEffect, would: str
) -> None:
    approval = await ReadOnly().approve(tool_call(), ScriptedTool(effect=effect))
    assert not approval.allowed
    assert approval.reason == (
        f"scripted could {would}, and only tools that read are allowed here."
    )
