"""`Compaction`: a change that makes room in a chat, and what it would keep; pure.

It is proposed, shown and then applied: from one message on, the history continues with a message
that stands for all before it. The messages before it stay, and are no longer sent.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from ollm_tui.chat.prompt import is_question, sent_from, turn_starts
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import COMPACTION, LEFT_OUT, SUMMARY, Message

CompactionKind: TypeAlias = Literal["summary", "left_out"]
HEADING: Final = "Summary of the conversation so far:"
KEPT_SHARE: Final = 0.25
"""The share of the window that the turns beside a summary may take."""
SENT_SHARE: Final = 0.5
"""The share of the window that is filled after the oldest turns were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What replaces the older messages of a conversation in its next requests."""

    kind: CompactionKind
    text: str
    """The summary, or a sentence about what was left out."""
    position: int
    """The messages before it are no longer sent; those from it on are."""
    messages: int
    """Number of messages that were sent before and are not afterwards."""
    tokens_before: int
    """About how many tokens those have."""
    tokens_after: int
    """About how many tokens take their place."""
    length: int
    """Number of messages of the conversation when it was proposed."""

    @property
    def freed(self) -> int:
        """About how many tokens of the window become free; below zero, more are used."""
        return self.tokens_before - self.tokens_after

    def with_text(self, text: str, tokens_after: int) -> "Compaction":
        """Return the same with another summary."""
        return replace(self, text=text, tokens_after=tokens_after)

    def message(self) -> Message:
        """Return the message that stands for those before it."""
        is_summary = self.kind == "summary"
        text = f"{HEADING}\n\n{self.text.strip()}" if is_summary else self.text
        return Message("user", text, metadata={COMPACTION: SUMMARY if is_summary else LEFT_OUT})


def compaction_text(message: Message) -> str:
    """Return the text of a compaction without its heading."""
    return message.text.removeprefix(HEADING).strip()


def left_out_text(messages: int) -> str:
    """Return what a model reads in the place of messages that were left out."""
    are = "message before this was" if messages == 1 else "messages before this were"
    return f"[{messages} {are} left out to make room.]"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The part of a history that is sent, as a compaction divides it."""

    messages: Sequence[Message]
    begin: int
    """Where it begins: at the last compaction, or at 0."""
    starts: tuple[int, ...]
    """Where each of its turns begins."""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "History":
        """Divide a history into turns."""
        begin = sent_from(messages)
        starts = tuple(begin + start for start in turn_starts(messages[begin:]))
        return cls(messages=messages, begin=begin, starts=starts)

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each turn ends."""
        return (*self.starts[1:], len(self.messages)) if self.starts else ()

    @property
    def is_answered(self) -> bool:
        """Whether the newest question has its whole answer, so that it may be summarised too."""
        newest = self.messages[-1] if self.messages else None
        return newest is not None and newest.role == "assistant" and not newest.tool_calls

    def position(self, sizes: Sequence[int], room: float) -> int | None:
        """Return from where on turns are kept, with the sizes of all; None if nothing would go.

        The newest turns stay as far as they fit, and a question without its answer in any case.
        At least the oldest turn goes.
        """
        if not self.starts:
            return None
        kept, used = 0, 0
        for size in reversed(sizes[1:]):
            if used + size > room:
                break
            kept, used = kept + 1, used + size
        if kept == 0 and not self.is_answered:
            kept = 1
        if kept >= len(self.starts):
            return None
        return self.starts[-kept] if kept else len(self.messages)


def nothing_to_compact() -> AIError:
    """Return the error for a chat with nothing that could be summarised or left out."""
    return AIError(
        ErrorCode.BAD_REQUEST,
        "There are no older messages to summarise or leave out.",
        hint="Ask for less at once, or choose a model with a larger window.",
    )


def check_unchanged(compaction: Compaction, messages: Sequence[Message]) -> None:
    """Check that a compaction was proposed for these messages.

    Raises:
        AIError: CONFLICT if the chat has changed since.
    """
    is_within = sent_from(messages) < compaction.position <= len(messages)
    if len(messages) != compaction.length or not is_within:
        raise AIError(ErrorCode.CONFLICT, "The chat has changed since.", hint="Use /compact again.")


def questions_before(messages: Sequence[Message], begin: int, position: int) -> int:
    """Return how many questions stand in a part of a history."""
    return sum(is_question(message) for message in messages[begin:position])
