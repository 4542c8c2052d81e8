"""What is sent of a chat that grows: the same as always, and the old part in the same objects."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.model_support import count_media
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.chat.sent_history import SentHistory
from ollm_tui.protocol.blocks import AudioContent, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.message import COMMAND, COMPACTION, SUMMARY, Message
from ollm_tui.protocol.tools import ToolCall

PICTURE = ImageContent(data=b"png", mime_type="image/png", name="cat.png")
CALLS = [ToolCall(id=name, name="look", args={}) for name in ("a", "b")]
KINDS = (
    lambda: Message("user", "Why?"),
    lambda: Message("user", [PICTURE]),
    lambda: Message("user", [TextContent("See."), PICTURE, AudioContent(data=b"wav")]),
    lambda: Message("user", "Again.", metadata={"correction": True}),
    lambda: Message("user", "$ ls", metadata={COMMAND: "ls"}),
    lambda: Message("user", "So far.", metadata={COMPACTION: SUMMARY}),
    lambda: Message("assistant", "Because."),
    lambda: Message("assistant", [ThinkingContent("Hm.")]),
    lambda: Message("assistant", [ImageContent(data=b"made", mime_type="image/png")]),
    lambda: Message("assistant", "Look.", tool_calls=CALLS),
    lambda: Message("tool", "1", tool_call_id="a"),
    lambda: Message("tool", "2", tool_call_id="b"),
)
STEPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(KINDS), max_size=4),
        st.integers(0, 5),
        st.sampled_from([0, 0, 0, 1, 2]),
        st.sampled_from([(), (), frozenset({"image"}), frozenset({"image", "audio"})]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100)
@given(STEPS)
def test_however_a_chat_changes_the_same_is_sent(steps: list) -> None:  # type: ignore[type-arg]
    sent, history = SentHistory(), list[Message]()
    for added, dropped, left_out, unsent in steps:
        history += [make() for make in added]
        for turns in {0, left_out}:
            given_, whole = (
                sent.messages(history, turns_left_out=turns, unsent=unsent),
                messages_to_send(history, turns_left_out=turns, unsent=unsent),
            )
            assert given_ == whole
            assert sent.media(history, turns) == count_media(history, turns)
        del history[len(history) - min(dropped, len(history)) :]


def test_a_result_that_comes_in_place_of_what_followed_its_call_is_sent() -> None:
    sent = SentHistory()
    history = [Message("assistant", "Look.", tool_calls=CALLS[:1]), Message("user", "Why?")]
    sent.messages(history)
    history[1:] = [Message("tool", "1", tool_call_id="a"), Message("user", "So?")]
    assert sent.messages(history) == messages_to_send(history)


def test_older_messages_stay_the_same_objects() -> None:
    sent, history = SentHistory(), list[Message]()
    before: tuple[Message, ...] = ()
    for number in range(12):
        # Two questions in a row, calls without results and files with names make new messages.
        history += [
            Message("user", f"{number}?"),
            Message("user", [TextContent("And this?"), PICTURE]),
            Message("assistant", "Look.", tool_calls=CALLS),
            Message("tool", "1", tool_call_id="a"),
            Message("assistant", "Because."),
        ]
        after = sent.messages(history)
        assert all(one is other for one, other in zip(before, after, strict=False))
        assert sent.messages(history)[:-1] == after[:-1]
        before = after
