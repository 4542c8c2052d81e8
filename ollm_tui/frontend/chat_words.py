"""What is said of saved chats, in words: in their list, and at the end of an import."""

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.model import ModelRef
from ollm_tui.store.rows import ConversationSummary

if TYPE_CHECKING:
    from ollm_tui.exchange.importing import ImportResult
    from ollm_tui.store.deletions import Deletion

UNTITLED: Final = "Empty chat"
MAX_LENGTH: Final = 500
"""Characters of a title or a name that are looked at; no line shows as many."""
_MAX_ROLE_LENGTH: Final = 40
_WRITERS: Final[Mapping[str, str]] = MappingProxyType(
    {"user": "You", "assistant": "Answer", "tool": "Tool", "system": "System"}
)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


def shown_title(title: str) -> str:
    """Return the title of a chat for people."""
    return clean_line(title[:MAX_LENGTH]).strip() or UNTITLED


def shown_model(address: str | None) -> str:
    """Return the name of a model without its provider."""
    ref = ModelRef.parse(address or "")
    return clean_name((ref.model if ref else address or "")[:MAX_LENGTH])


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


def count_of_all(chat: ConversationSummary) -> str:
    """Write how many messages a chat has, and say so if that is more than the shown branch."""
    branches = " on all branches" if chat.total_messages > chat.message_count else ""
    return counted(chat.total_messages, "message") + branches


def restored_words(deletion: "Deletion") -> str:
    """Say what an undone deletion brought back."""
    what = counted(deletion.messages, "message")
    return f"Restored {what} of “{shown_title(deletion.title)}”."


def shown_role(role: str) -> str:
    """Return who wrote a message, for people."""
    return _WRITERS.get(role) or clean_name(role[:_MAX_ROLE_LENGTH])


def shown_tags(tags: Sequence[str]) -> str:
    """Write tags with the sign before each."""
    return " ".join(f"#{clean_name(tag)}" for tag in tags)


_MAX_PROBLEMS: Final = 3


def ending_words(result: "ImportResult", problem: str = "", *, is_stopped: bool = False) -> str:
    """Say what an import has added, and what it could not read."""
    words = f"Imported {counted(result.chats, 'chat')}"
    if result.continued:
        words += f" and continued {counted(result.continued, 'chat')}"
    words += f" ({counted(result.messages, 'message')})."
    if result.unchanged:
        is_there = "was" if result.unchanged == 1 else "were"
        words += f" {counted(result.unchanged, 'chat')} {is_there} there already."
    sentences = [problem, *(text for _path, text in result.problems[:_MAX_PROBLEMS])]
    if (left := len(result.problems) - _MAX_PROBLEMS) > 0:
        sentences.append(f"And {counted(left, 'more problem')}.")
    if is_stopped:
        words = f"Stopped. {words}"
    return " ".join([words, *(clean_line(one) for one in sentences if one)])
