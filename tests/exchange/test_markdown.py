"""A chat as Markdown."""

from dataclasses import replace

from markdown_it import MarkdownIt

from ollm_tui.exchange.markdown import code, fenced, markdown_pieces
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ConversationSettings
from tests.exchange.hostile import EVIL, hostile_chat
from tests.store.test_records import TREE, chat


def text_of(record: ChatRecord) -> str:
    return "".join(markdown_pieces(record))


def entry(name: str, message: Message, parent: str | None = None) -> MessageRecord:
    return MessageRecord(
        id=name, parent_id=parent, message=message, created_ms=0, updated_ms=0, model="tiny"
    )


def test_a_chat_reads_from_top_to_bottom() -> None:
    call = ToolCall(id="1", name="clock", args={"zone": "UTC"})
    record = chat(
        entry("a", Message("user", [TextContent("What *time*?"), ImageContent(data=b"123")])),
        entry("b", Message("assistant", [ThinkingContent("Hm.\nSo.")], tool_calls=[call]), "a"),
        entry("c", Message("tool", "12:00 ``` x", name="clock"), "b"),
        entry("d", Message("assistant", "Noon."), "c"),
        leaf="d",
    )
    settings = ConversationSettings(
        model="local://tiny", system_prompt="Be brief.", options=GenerationOptions(temperature=0.5)
    )
    assert text_of(replace(record, title="A [chat]", settings=settings)) == (
        "# A \\[chat\\]\n\n- model: `local://tiny`\n- temperature: `0.5`\n\n"
        "System prompt:\n\n```text\nBe brief.\n```\n\n"
        "## You\n\nWhat *time*?\n\n*Picture: 3 B*\n\n"
        "## tiny\n\n> *Thinking*\n>\n> Hm.\n> So.\n\n"
        'Tool call `clock`:\n\n```json\n{\n  "zone": "UTC"\n}\n```\n\n'
        "## Result of clock\n\n````text\n12:00 ``` x\n````\n\n"
        "## tiny\n\nNoon.\n\n"
    )


def test_other_branches_follow_with_what_they_add() -> None:
    text = text_of(chat(*TREE, leaf="c1"))
    assert text.index("c1") < text.index("# Branch 2: after “b”") < text.index("c2")
    assert text.count("\na\n") == 1


def test_fences_and_code_spans_hold_any_text() -> None:
    for text in (*EVIL, "`", "a ``` b\n````\n~~~", " ` ``", "```\n```\n`````"):
        (block,) = MarkdownIt().parse(fenced(text, "text"))
        assert block.type == "fence"
    for text in ("`", "``", " a ", "a`b``c", "`a`"):
        (_, inline, _) = MarkdownIt().parse(code(text))
        assert [token.content for token in inline.children or ()] == [text]


def test_control_characters_of_any_part_are_signs() -> None:
    text = text_of(hostile_chat())
    assert not {c for c in text if not c.isprintable() and c not in "\n\t\u2028"} - {"\xa0"}


def test_a_block_of_an_unknown_type_is_named() -> None:
    record = chat(entry("a", Message("user", [UnknownContent("hologram", {})])))
    assert "*Content of the type hologram*" in text_of(record)
