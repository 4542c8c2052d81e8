import pytest

from ollm_tui.protocol.tools import Approval, ToolEffect
from ollm_tui.tools.approval import NamedTools, ReadOnly
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


async def test_only_the_named_tools_that_read_are_allowed() -> None:
    approver = NamedTools(["scripted"], "--tools")
    assert (await approver.approve(tool_call(), ScriptedTool())).allowed
    assert not (await approver.approve(tool_call(), ScriptedTool(effect="write"))).allowed
    unnamed = await NamedTools([], "--tools").approve(tool_call(), ScriptedTool())
    assert unnamed == Approval(
        allowed=False,
        reason=(
            "scripted needs approval, and there is no terminal for approval. "
            "Use --tools scripted to allow it."
        ),
    )
