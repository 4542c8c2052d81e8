"""What is said of making room in a chat before it counts, and how it is made to count."""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ollm_tui.chat.compaction import Compaction, History
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.protocol.message import Message

_MAX_ROW_LENGTH: Final = 200
_WHOLE: Final = "The whole chat is kept: /tree shows it."
_UNSAVED: Final = "This chat is not saved, so this cannot be undone."


def can_compact(session: ChatSession) -> bool:
    """Return whether there are older messages that could make room."""
    history = History.of(session.client.conversation.messages)
    return len(history.starts) > 1 or (bool(history.starts) and history.is_answered)


def is_saved(session: ChatSession) -> bool:
    """Return whether the chat keeps the messages as another branch."""
    return session.client.saving.journal is not None


def proposal_words(session: ChatSession, proposal: Compaction) -> str:
    """Say what a proposal does to the chat, and whether anything would be lost."""
    kept = len(session.client.conversation.messages) - proposal.position
    older = counted(proposal.messages, "message")
    one = proposal.messages == 1
    are, them = ("is", "it has") if one else ("are", "they have")
    in_place = (
        f"The summary takes {proposal.tokens_after:,}. " if proposal.kind == "summary" else ""
    )
    newest = f"the newest {counted(kept, 'message')} {'stays' if kept == 1 else 'stay'}"
    rest = f"{newest[:1].upper()}{newest[1:]} as before." if kept else ""
    figures = (
        f"The oldest {older} {are} no longer sent; {them} about {proposal.tokens_before:,} "
        f"tokens. {in_place}{rest}"
    ).strip()
    return f"{figures}\n{_WHOLE if is_saved(session) else _UNSAVED}"


def first_words(session: ChatSession, proposal: Compaction) -> str:
    """Return a line for each message of a proposal, with who wrote it and its first words."""
    names = {"user": "You", "assistant": "Model", "tool": "Tool"}
    return "\n".join(
        f"{names.get(one.role, one.role)}: {clean_line(one.text[:_MAX_ROW_LENGTH].strip())}"
        for one in _messages_of(session, proposal)
    )


def _messages_of(session: ChatSession, proposal: Compaction) -> "Sequence[Message]":
    messages = session.client.conversation.messages
    return messages[proposal.position - proposal.messages : proposal.position]


async def apply(session: ChatSession, proposal: Compaction) -> tuple[str, str | None]:
    """Make a proposal count; return a sentence about it, and where the messages are.

    Raises:
        AIError: the chat has changed since, or an answer is in progress.
    """
    await session.client.compact(proposal)
    session.usage = None
    with suppress(AIError):  # only a figure; the next prompt says why
        await session.runtime.measure(session.client.conversation)
    done = "Summarised" if proposal.kind == "summary" else "Left out"
    words = f"{done} {counted(proposal.messages, 'message')}."
    return words, _WHOLE if is_saved(session) else None
