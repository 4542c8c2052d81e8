"""What a conversation says of itself."""

from ollm_tui.chat.conversation import Conversation, Preset
from ollm_tui.protocol.blocks import ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall


def conversation_of(*messages: Message) -> Conversation:
    return Conversation(messages=[*messages])


def test_the_title_is_the_first_line_of_the_first_question_that_has_words() -> None:
    assert conversation_of().title is None
    assert conversation_of(Message("assistant", "Hello."), Message("user", "  \n")).title is None
    asked = conversation_of(
        Message("system", "Be brief."),
        Message("user", " \n"),
        Message("user", "\n Why?\nSay it."),
        Message("user", "And?"),
    )
    assert asked.title == "Why?"


def test_the_last_answer_is_the_newest_that_has_words() -> None:
    assert conversation_of(Message("user", "Why?")).last_answer() is None
    thought = Message("assistant", [ThinkingContent("hm")])
    answers = (Message("assistant", "one"), Message("assistant", "two"))
    assert conversation_of(*answers, Message("user", "And?"), thought).last_answer() == "two"


def test_going_back_drops_what_follows_the_newest_question() -> None:
    first, second = Message("user", "one"), Message("user", "two")
    asked = conversation_of(first, Message("assistant", "1"), second, Message("assistant", "2"))
    assert asked.rewind_to_prompt()
    assert asked.messages[2:] == [second]
    assert asked.rewind_to_prompt()
    assert len(asked.messages) == 3
    unasked = conversation_of(Message("assistant", "Hello."))
    assert not unasked.rewind_to_prompt()
    assert len(unasked.messages) == 1


def test_ids_of_calls_and_blocks_are_known_for_the_whole_chat() -> None:
    calls = [ToolCall(id=name, name="look", args={}) for name in ("a", "b")]
    asked = conversation_of(*(Message("assistant", "", tool_calls=[call]) for call in calls))
    assert asked.call_ids() == {"a", "b"}
    assert [asked.next_block(), asked.next_block()] == ["b1", "b2"]
    assert asked.blocks_used == 2


def test_a_preset_replaces_the_settings_of_a_conversation_but_keeps_its_schema() -> None:
    conversation = Conversation()
    conversation.use_schema({"type": "object"}, "person.json")
    preset = Preset(profile="work", system_prompt="Be brief.", should_think="off", tools=("clock",))
    preset.apply_to(conversation)
    assert (conversation.profile, conversation.system_prompt) == ("work", "Be brief.")
    assert (conversation.should_think, conversation.tools) == ("off", ("clock",))
    assert (conversation.schema, conversation.schema_file) == ({"type": "object"}, "person.json")
    Preset(schema={"type": "array"}, schema_file="list.json").apply_to(conversation)
    assert (conversation.schema, conversation.schema_file) == ({"type": "array"}, "list.json")
    assert conversation.profile is None
