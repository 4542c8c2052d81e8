"""The rows of the list of saved chats: which match, and how each is written."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.capabilities import ChatSummary
from ollm_tui.tui.widgets.chrome import cut, fit

UNTITLED = "Empty chat"
LEAST_TITLE = 24
"""Cells that a title keeps before a column goes."""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONGEST = 500


def title_of(chat: ChatSummary) -> str:
    """Give the name of a chat for people."""
    return clean_line(chat.title[:_LONGEST]).strip() or UNTITLED


def matching(chats: Sequence[ChatSummary], query: str) -> list[ChatSummary]:
    """Keep the chats that have every word of the query in title or model; the order stays."""
    words = query.casefold().split()
    return [
        chat
        for chat in chats
        if all(word in f"{chat.title} {chat.model or ''}".casefold() for word in words)
    ]


def when(updated_ms: int, now_ms: int, zone: tzinfo | None = None) -> str:
    """Write a time as near as it matters: `09:14`, `yesterday`, `Tue`, `3 Nov`, `3 Nov 2025`."""
    try:
        then = datetime.fromtimestamp(updated_ms / 1000, zone)
    except (OSError, OverflowError, ValueError):
        return ""
    now = datetime.fromtimestamp(now_ms / 1000, zone)
    days = (now.date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    if days == 1:
        return "yesterday"
    if 1 < days < 7:
        return _DAYS[then.weekday()]
    date = f"{then.day} {_MONTHS[then.month - 1]}"
    return date if then.year == now.year else f"{date} {then.year}"


def row_content(chat: ChatSummary, width: int, now_ms: int, *, is_open: bool) -> Content:
    """Write one row in `width` cells; what does not fit is left out from the right."""
    ref = ModelRef.parse(chat.model or "")
    model = clean_name((ref.model if ref else chat.model or "")[:_LONGEST])
    time, count = when(chat.updated_ms, now_ms), count_of(chat)
    facts = [time.rjust(11), count.rjust(12), fit(model, 22)]
    room = width - 2
    while facts and room - sum(len(fact) + 2 for fact in facts) < LEAST_TITLE:
        facts.pop()
    room -= sum(len(fact) + 2 for fact in facts)
    return Content.assemble(
        ("● " if is_open else "  ", "$text-success"),
        fit(cut(title_of(chat), room), max(0, room)),
        ("".join(f"  {fact}" for fact in facts), "$text-muted"),
    )


def count_of(chat: ChatSummary) -> str:
    """Write how many messages the shown branch of a chat has."""
    return counted(chat.message_count, "message")


def count_of_all(chat: ChatSummary) -> str:
    """Write how many messages a chat has, and say so if that is more than the shown branch."""
    branches = " on all branches" if chat.total_messages > chat.message_count else ""
    return counted(chat.total_messages, "message") + branches
