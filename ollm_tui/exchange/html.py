"""A chat as one HTML file: nothing in it runs, and nothing is loaded from elsewhere.

The policy in its head forbids scripts, forms and every address but those of the pictures inside;
its only style sheet is allowed by its hash.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from ollm_tui.decode.images import image_data, read_image_header
from ollm_tui.exchange.html_text import HtmlText, is_safe_link
from ollm_tui.exchange.markdown import arguments
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
from ollm_tui.exchange.stylesheet import stylesheet
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.store.records import ChatRecord, MessageRecord

_MEDIA: Final[Mapping[tuple[int, bytes], str]] = {
    (0, b"OggS"): "audio/ogg",
    (0, b"fLaC"): "audio/flac",
    (0, b"ID3"): "audio/mpeg",
    (0, b"\xff\xfb"): "audio/mpeg",
    (8, b"WAVE"): "audio/wav",
    (4, b"ftyp"): "video/mp4",
    (0, b"\x1a\x45\xdf\xa3"): "video/webm",
}
"""Sound and video by the bytes at a place; the type that the file was said to have counts not."""


def html_pieces(record: ChatRecord) -> Iterator[str]:
    """Yield a chat as a page."""
    text = HtmlText()
    yield _head(title_text(record))
    yield f"<header>\n<h1>{escape(title_text(record))}</h1>\n"
    yield from _settings(record)
    yield "</header>\n<main>\n"
    places = {one.id: number for number, one in enumerate(record.messages, 1)}
    for one in outline(record):
        if isinstance(one, Fork):
            yield _fork(one, places)
        else:
            yield from _message(one, places[one.id], text)
    yield "</main>\n</body>\n</html>\n"


def _head(title: str) -> str:
    style = stylesheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; media-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


def _settings(record: ChatRecord) -> Iterator[str]:
    rows = settings_rows(record.settings)
    if rows:
        yield "<dl>\n"
        for name, value in rows:
            yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n"
        yield "</dl>\n"
    if record.settings.system_prompt:
        yield from _folded("System prompt", escape(as_text(record.settings.system_prompt)), "pre")


def _fork(fork: Fork, places: Mapping[str, int]) -> str:
    behind = "another first message"
    if fork.behind is not None:
        words = escape(beginning(fork.behind.message)) or "a message"
        behind = f'after <a href="#m{places[fork.behind.id]}">{words}</a>'
    return f'<h2 class="branch">Branch {fork.number}: {behind}</h2>\n'


def _message(one: MessageRecord, place: int, text: HtmlText) -> Iterator[str]:
    role = one.message.role if one.message.role in {"user", "assistant", "tool"} else "other"
    when = time_text(one.created_ms)
    yield f'<article class="{role}" id="m{place}">\n<h2>{escape(speaker(one))}'
    yield f" <small>{when}</small></h2>\n" if when else "</h2>\n"
    for block in one.message.content:
        yield from _block(block, text, is_result=role == "tool")
    for call in one.message.tool_calls:
        shown = text.code(as_text(arguments(call)), "json")
        yield from _folded(f"Tool call: {call.name}", shown)
    if one.state in ENDINGS:
        yield f'<p class="note">{ENDINGS[one.state]}</p>\n'
    yield "</article>\n"


def _block(block: Block, text: HtmlText, *, is_result: bool) -> Iterator[str]:
    match block:
        case TextContent() if is_result:
            yield f'<pre dir="auto">{escape(as_text(block.text))}</pre>\n'
        case TextContent():
            yield f'<div dir="auto">{text.markdown(as_text(block.text))}</div>\n'
        case ThinkingContent(sealed=True):
            yield '<p class="note">Thinking that only the provider can read.</p>\n'
        case ThinkingContent():
            yield from _folded("Thinking", text.markdown(as_text(block.text)))
        case ImageContent() | AudioContent() | VideoContent():
            yield _media(block)
        case _:
            yield f'<p class="note">{escape(described(block))}</p>\n'


def _folded(summary: str, content: str, tag: str = "div") -> Iterator[str]:
    label = escape(as_text(summary).replace("\n", " "))
    yield f"<details>\n<summary>{label}</summary>\n"
    yield f'<{tag} dir="auto">{content}</{tag}>\n</details>\n'


def _media(block: ImageContent | AudioContent | VideoContent) -> str:
    label = escape(described(block))
    media = image_data(block.data, block.url)
    content = media.whole() if media is not None else b""
    kind = _kind(content)
    if kind is not None:
        address = f"data:{kind};base64,{to_base64(content)}"
        if kind.startswith("image/"):
            return f'<p><img src="{address}" alt="{label}"></p>\n'
        tag = kind.partition("/")[0]
        return f'<p><{tag} controls src="{address}"></{tag}></p>\n<p class="note">{label}</p>\n'
    if block.url is not None and is_safe_link(block.url):
        link = escape(block.url)
        return f'<p><a href="{link}" rel="noopener noreferrer nofollow">{label}</a></p>\n'
    return f'<p class="note">{label}</p>\n'


def _kind(content: bytes) -> str | None:
    """Return the media type of bytes that a browser may show, by what they are."""
    header = read_image_header(content)
    if header is not None:
        return f"image/{header.kind}"
    for (start, sign), kind in _MEDIA.items():
        if content[start : start + len(sign)] == sign:
            return kind
    return None
