"""/skills: what it lists, adds and takes out."""

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from tests.commands.recording_host import RecordingHost


async def ran(typed: str) -> RecordingHost:
    host = RecordingHost()
    call = parse(typed, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host


async def test_all_are_listed_with_their_tokens_and_whether_they_are_in_use() -> None:
    [(_say, words, *_)] = (await ran("/skills")).asked
    assert "○ AGENTS.md: How to work here (12 tokens)" in words
    assert "● review: Reviews changes. (1 token)" in words


async def test_one_is_added_and_its_cost_is_told() -> None:
    [(_say, words, *_)] = (await ran("/skill AGENTS.md")).asked
    assert words == (
        "AGENTS.md is in the system prompt of this chat: about 12 tokens, sent with every prompt."
        " /skills off takes it out."
    )
    [(_say, same, *_)] = (await ran("/skills add AGENTS.md")).asked
    assert same == words


async def test_one_or_all_are_taken_out() -> None:
    assert ("remove_instructions", "review") in (await ran("/skills off review")).asked
    assert ("remove_instructions", "review") in (await ran("/skills rm review")).asked
    assert ("remove_instructions", "") in (await ran("/skills none")).asked
    nothing = (await ran("/skills off nothing")).asked
    assert any("has no such instructions" in one[1] for one in nothing)


async def test_what_can_be_added_is_suggested() -> None:
    host = RecordingHost()
    offered, used = suggest("/skills ", COMMANDS, host), suggest("/skills off ", COMMANDS, host)
    assert offered is not None
    assert [one.value for one in offered.items] == ["AGENTS.md", "off"]
    assert used is not None
    assert [one.value for one in used.items] == ["off review"]
