"""A chat as Markdown, for people and for other programs that read text."""

import json
import re
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.exchange.outline import (
    ENDINGS,
    Fork,
    as_text,
    beginning,
    described,
    outline,
    settings_rows,
    speaker,
    time_text,
    title_text,
)
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord, MessageRecord

_FENCES: Final = lazy_re(r"`{3,}")
_MARKS: Final = lazy_re(r"([\\`*_\[\]<>#|~])")


def markdown_pieces(record: ChatRecord) -> Iterator[str]:
    """Yield a chat as Markdown; texts of messages stay as they are."""
    yield f"# {escaped(title_text(record))}\n\n"
    yield from _settings(record)
    for one in outline(record):
        if isinstance(one, Fork):
            yield _fork(one)
        else:
            yield from _message(one)


def _settings(record: ChatRecord) -> Iterator[str]:
    rows = settings_rows(record.settings)
    for name, value in rows:
        yield f"- {name}: {code(value)}\n"
    if rows:
        yield "\n"
    if record.settings.system_prompt:
        yield f"System prompt:\n\n{fenced(record.settings.system_prompt, 'text')}\n"


def _fork(fork: Fork) -> str:
    behind = "another first message"
    if fork.behind is not None:
        behind = f"after “{escaped(beginning(fork.behind.message))}”"
    return f"---\n\n# Branch {fork.number}: {behind}\n\n"


def _message(one: MessageRecord) -> Iterator[str]:
    when = time_text(one.created_ms)
    yield f"## {escaped(speaker(one))}\n\n"
    if when:
        yield f"*{when}*\n\n"
    is_result = one.message.role == "tool"
    for block in one.message.content:
        yield from _block(block, is_result=is_result)
    for call in one.message.tool_calls:
        yield _call(call)
    if one.state in ENDINGS:
        yield f"*{ENDINGS[one.state]}*\n\n"


def _block(block: Block, *, is_result: bool) -> Iterator[str]:
    match block:
        case TextContent() if is_result:
            yield fenced(block.text, "text") + "\n"
        case TextContent():
            yield as_text(block.text).strip("\n") + "\n\n"
        case ThinkingContent(sealed=True):
            yield "> *Thinking that only the provider can read.*\n\n"
        case ThinkingContent():
            yield "> *Thinking*\n>\n"
            for line in as_text(block.text).strip("\n").split("\n"):
                yield f"> {line}\n"
            yield "\n"
        case _:
            yield f"*{escaped(described(block))}*\n\n"


def _call(call: ToolCall) -> str:
    return f"Tool call {code(clean_line(call.name))}:\n\n{fenced(arguments(call), 'json')}\n"


def arguments(call: ToolCall) -> str:
    """Return the arguments of a call as text."""
    if call.args is None:
        return call.raw_args
    try:
        return json.dumps(call.args, indent=2, ensure_ascii=False)
    except (RecursionError, ValueError):
        return call.raw_args


def fenced(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any in the text."""
    content = as_text(text).strip("\n")
    longest = max(map(len, _FENCES.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{content}\n{fence}\n"


def code(text: str) -> str:
    """Return a code span, whatever backticks are in the text."""
    runs = re.findall("`+", text)
    mark = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if text[:1] in {"`", " "} or text[-1:] in {"`", " "} else ""
    return f"{mark}{space}{text}{space}{mark}"


def escaped(text: str) -> str:
    """Return text without meaning in Markdown, for headings and notes."""
    return _MARKS.sub(r"\\\1", text)
