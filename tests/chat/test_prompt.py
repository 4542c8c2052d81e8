"""From a conversation to the messages of a request."""

from dataclasses import replace

from ollm_tui.chat.prompt import EVERY_MEDIUM, merged_options, messages_to_send, no_result
from ollm_tui.protocol.blocks import AudioContent, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.tools import ToolCall

PICTURE = ImageContent(data=b"png", mime_type="image/png")
CALL = ToolCall(id="c1", name="look", args={})


def test_options_that_are_set_lie_over_others() -> None:
    base = GenerationOptions(temperature=0.5, seed=1)
    assert merged_options(base, None) == base
    over = GenerationOptions(seed=0, top_p=0.9)
    assert merged_options(base, over) == GenerationOptions(temperature=0.5, seed=0, top_p=0.9)


def test_attachments_can_stay_behind_and_a_message_of_nothing_else_with_them() -> None:
    both = Message("user", [PICTURE, TextContent("What is it?")], metadata={"k": 1})
    alone = Message("user", [PICTURE, AudioContent(data=b"wav")])
    called = Message("assistant", [PICTURE], tool_calls=[CALL])
    plain = Message("assistant", "A cat.")
    result = no_result(CALL)
    history = [alone, both, called, result, plain]
    named = replace(called, content=(TextContent("[image]"),))
    assert messages_to_send(history[2:]) == (named, result, plain)
    assert messages_to_send(history, unsent=EVERY_MEDIUM) == (
        Message("user", "What is it?", metadata={"k": 1}),
        Message("assistant", [], tool_calls=[CALL]),
        result,
        plain,
    )


def test_a_picture_from_a_file_goes_below_its_name_and_not_at_all_without_it() -> None:
    cat, dog = (replace(PICTURE, name=name) for name in ("cat.png", "d\n\u202eog.png"))
    asked = Message("user", [TextContent("Which?"), cat, dog, TextContent("Say."), PICTURE])
    (sent,) = messages_to_send([asked])
    assert sent.content == (
        TextContent("Which?"),
        TextContent("\n\ncat.png:\n"),
        cat,
        TextContent("d⟦U+000A⟧⟦U+202E⟧og.png:\n"),
        dog,
        TextContent("Say."),
        PICTURE,
    )
    assert messages_to_send([asked], unsent={"image"})[0].text == "Which?Say."
    assert messages_to_send([Message("user", [cat])])[0].text == "cat.png:\n"
    joined = messages_to_send([asked, Message("user", [cat])])[0].text
    assert joined.endswith("Say.\n\ncat.png:\n")


def test_a_message_to_which_nothing_is_added_is_not_copied() -> None:
    asked = Message("user", [PICTURE, TextContent("What is it?")])
    history = [asked, Message("assistant", "A cat.")]
    assert all(a is b for a, b in zip(messages_to_send(history), history, strict=True))


def test_questions_in_a_row_are_joined_with_their_pictures() -> None:
    rows = [Message("user", "one"), Message("user", [PICTURE]), Message("user", "three")]
    [sent] = messages_to_send(rows)
    gap = TextContent("\n\n")
    assert sent.content == (TextContent("one"), gap, PICTURE, gap, TextContent("three"))


def test_an_answer_of_nothing_but_thinking_stays_behind_unless_it_calls() -> None:
    thought = Message("assistant", [ThinkingContent("hm")])
    calling = Message("assistant", [ThinkingContent("hm")], tool_calls=[CALL])
    asked = Message("user", "Why?")
    assert messages_to_send([asked, thought]) == (asked,)
    assert messages_to_send([asked, calling]) == (asked, calling, no_result(CALL))


def test_only_results_right_after_a_call_answer_it() -> None:
    other = ToolCall(id="c2", name="look", args={})
    calling = Message("assistant", "", tool_calls=[CALL, other])
    result = Message("tool", "seen", name="look", tool_call_id="c2")
    late = Message("tool", "late", name="look", tool_call_id="c1")
    asked = Message("user", "Why?")
    sent = messages_to_send([asked, calling, result, asked, late])
    assert [m.tool_call_id for m in sent] == [None, None, "c1", "c2", None, "c1"]
    assert sent[2].text == "Stopped by the user."
    assert sent[2].metadata == {"outcome": "stopped", "is_error": True}


def test_the_oldest_turns_can_stay_behind_but_never_the_newest() -> None:
    turns = [
        message
        for number in range(3)
        for message in (Message("user", f"q{number}"), Message("assistant", f"a{number}"))
    ]
    for left_out, first in ((0, "q0"), (1, "q1"), (2, "q2"), (3, "q2"), (99, "q2")):
        assert messages_to_send(turns, turns_left_out=left_out)[0].text == first


def test_a_template_format_is_still_there_for_the_adapter_to_refuse() -> None:
    first = Message("user", [PICTURE, TextContent("a")], template_format="jinja2")
    (joined,) = messages_to_send([first, Message("user", "b")], unsent=EVERY_MEDIUM)
    assert joined.template_format == "jinja2"
    assert joined.text == "a\n\nb"


def test_a_field_of_either_message_outlives_their_joining() -> None:
    bare = Message("user", "a")
    whole = Message("user", "b", name="Ann", template_format="jinja2")
    for history in ([bare, whole], [whole, bare]):
        (joined,) = messages_to_send(history)
        assert (joined.name, joined.template_format) == ("Ann", "jinja2")
