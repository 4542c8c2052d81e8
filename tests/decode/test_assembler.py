"""Events of one answer to the message they amount to."""

from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import (
    Finish,
    MediaDelta,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall

CALL = ToolCall(id="c1", name="look", args={})


def assembled(*events: ProviderEvent) -> MessageAssembler:
    assembler = MessageAssembler()
    for event in events:
        assembler.add(event)
    return assembler


def test_neighbours_of_one_kind_are_one_block_and_the_order_is_kept() -> None:
    made = assembled(
        ThinkingDelta("h"),
        ThinkingDelta("m"),
        TextDelta("We"),
        TextDelta("ll"),
        ThinkingDelta("so"),
        TextDelta("Yes."),
    )
    assert made.block_number == 4
    assert made.message({"ended": "stopped"}) == Message(
        "assistant",
        [
            ThinkingContent("hm"),
            TextContent("Well"),
            ThinkingContent("so"),
            TextContent("Yes."),
        ],
        metadata={"ended": "stopped"},
    )


def test_nothing_but_ends_media_other_answers_and_empty_pieces_is_no_message() -> None:
    made = assembled(
        TextDelta(""),
        ThinkingDelta(""),
        TextDelta("other", index=1),
        ToolCallEvent(CALL, index=1),
        MediaDelta(modality="image", data=b"x"),
        Finish("stop"),
    )
    assert made.is_empty
    assert made.block_number == 0
    assert made.message() is None
    assert made.calls == ()


def test_a_call_alone_is_a_message() -> None:
    made = assembled(ToolCallEvent(CALL))
    assert not made.is_empty
    assert made.calls == (CALL,)
    assert made.message() == Message("assistant", [], tool_calls=[CALL])


def test_a_signature_belongs_to_its_thoughts_even_without_words() -> None:
    signed = assembled(ThinkingDelta("hm"), ThinkingDelta("", signature="s1"), TextDelta("Yes."))
    assert signed.message() == Message(
        "assistant", [ThinkingContent("hm", "s1"), TextContent("Yes.")]
    )
    alone = assembled(ThinkingDelta("", signature="s2"))
    assert not alone.is_empty
    assert alone.message() == Message("assistant", [ThinkingContent("", "s2")])
    renewed = assembled(ThinkingDelta("a", signature="s1"), ThinkingDelta("b", signature="s2"))
    assert renewed.message() == Message(
        "assistant", [ThinkingContent("a", "s1"), ThinkingContent("b", "s2")]
    )


def test_a_signature_that_comes_late_still_finds_its_thoughts() -> None:
    made = assembled(
        ThinkingDelta("hm"),
        TextDelta("Ye"),
        ThinkingDelta("", signature="", signer="p://m"),
        TextDelta("s."),
    )
    assert made.message() == Message(
        "assistant", [ThinkingContent("hm", "", "p://m"), TextContent("Yes.")]
    )


def test_thoughts_that_only_their_signer_can_read_are_blocks_of_their_own() -> None:
    made = assembled(
        ThinkingDelta("hm"),
        ThinkingDelta("", signature="s1", signer="p://m"),
        ThinkingDelta("", signature="x1", signer="p://m", sealed=True),
        ThinkingDelta("", signature="x2", signer="p://m", sealed=True),
        ThinkingDelta("so"),
    )
    assert made.message() == Message(
        "assistant",
        [
            ThinkingContent("hm", "s1", "p://m"),
            ThinkingContent("", "x1", "p://m", sealed=True),
            ThinkingContent("", "x2", "p://m", sealed=True),
            ThinkingContent("so"),
        ],
    )


def test_an_answer_of_very_many_pieces_can_be_looked_at_while_it_comes() -> None:
    assembler = MessageAssembler()
    pieces = [f"{number} \N{GRINNING FACE}" for number in range(5000)]
    for number, piece in enumerate(pieces, 1):
        assembler.add(TextDelta(piece))
        if number in {1, 1023, 1024, 1025, 2049, 5000}:
            assert assembler.message() == Message("assistant", "".join(pieces[:number]))
    assembler.add(ThinkingDelta("so"))
    kept = assembler.message()
    assembler.add(ThinkingDelta(" on", signature="s"))
    assert kept == Message("assistant", [TextContent("".join(pieces)), ThinkingContent("so")])
    assert assembler.message() == Message(
        "assistant", [TextContent("".join(pieces)), ThinkingContent("so on", "s")]
    )


def test_a_long_answer_is_joined_once_however_often_it_is_asked_for() -> None:
    assembler = MessageAssembler()
    for _ in range(3000):
        assembler.add(TextDelta("word "))
    texts = [message.text for _ in range(2) if (message := assembler.message()) is not None]
    assert texts[0] == "word " * 3000
    assert texts[0] is texts[1]
