"""What the requests of a growing chat have in common is not looked for again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.sent_messages import Growth, SentMessages, common_length, selected


def chat(length: int) -> list[Message]:
    """Return messages, every third with a name."""
    return [Message("user", f"{at}", name=None if at % 3 else f"name {at}") for at in range(length)]


def has_name(message: Message) -> bool:
    return message.name is not None


def test_the_common_beginning_ends_where_the_objects_differ() -> None:
    items, other = chat(5), Message("user", "other")
    for sequence, length in (
        (items, 5), (items[:3], 3), ([*items, other], 5), ([], 0), ([other, *items], 0),
        ([*items[:2], other, *items[3:]], 2),
    ):  # fmt: skip
        assert common_length(items, sequence) == common_length(sequence, items) == length


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=2, max_size=6))
def test_requests_of_a_growth_are_compared_after_what_is_settled(
    requests: list[tuple[int, int]],
) -> None:
    settled, growth, sent = chat(12), Growth(), list[SentMessages]()
    for count, more in requests:
        sent.append(SentMessages.of([*settled[:count], *chat(more)], growth, count))
    for one in sent:
        for other in sent:
            assert common_length(one, other) == common_length([*one], [*other])


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=6))
def test_the_same_messages_are_selected_however_a_chat_grows(
    requests: list[tuple[int, int]],
) -> None:
    settled, growth = chat(12), Growth()
    for count, more in requests:
        sent = SentMessages.of([*settled[:count], *chat(more)], growth, count)
        assert selected(sent, has_name) == [one for one in sent if has_name(one)]


def test_each_settled_message_is_tested_once() -> None:
    settled, growth, tested = chat(6), Growth(), list[Message]()

    def test(message: Message) -> bool:
        tested.append(message)
        return True

    for count in (4, 2, 6):
        part = settled[:count]
        assert selected(SentMessages.of(part, growth, count), test) == part
    assert tested == settled
