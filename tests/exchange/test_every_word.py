"""Whatever a chat holds, each text, thought, call and result of it can be read in each export."""

import re
from dataclasses import replace
from itertools import count

import pytest
import tinyhtml5
from hypothesis import given, settings

from ollm_tui.exchange.formats import FORMATS
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord
from tests.support.seeds import in_parts
from tests.support.strategies_of_chats import chats


class Marks:
    """Puts a word of its own before every text of a chat."""

    def __init__(self) -> None:
        self.numbers = count(1000)
        self.words: list[str] = []

    def word(self) -> str:
        self.words.append(f"w{next(self.numbers)}")
        return self.words[-1]

    def block(self, block: Block) -> Block:
        match block:
            case TextContent():
                return replace(block, text=f"{self.word()} {block.text}")
            case ThinkingContent(sealed=False):
                return replace(block, text=f"{self.word()} {block.text}")
            case _:
                return block

    def call(self, call: ToolCall) -> ToolCall:
        args = {"key": self.word(), **(call.args or {})}
        return replace(call, name=f"{self.word()} {call.name}", args=args)

    def message(self, message: Message) -> Message:
        return replace(
            message,
            content=tuple(map(self.block, message.content)),
            tool_calls=tuple(map(self.call, message.tool_calls)),
        )

    def chat(self, record: ChatRecord) -> ChatRecord:
        messages = tuple(replace(one, message=self.message(one.message)) for one in record.messages)
        return replace(record, title=f"{self.word()} {record.title}", messages=messages)


@pytest.mark.slow
@in_parts(60)
@settings(max_examples=8)
@given(record=chats())
def test_every_text_can_be_read(part: int, record: ChatRecord) -> None:
    marks = Marks()
    marked = marks.chat(record)
    for name, form in FORMATS.items():
        text = "".join(form.pieces(marked, is_tree=True))
        if name == "html":
            text = "".join(tinyhtml5.parse(text, namespace_html_elements=False).itertext())
        assert {*marks.words} <= {*re.findall(r"w\d{4}", text)}, name
