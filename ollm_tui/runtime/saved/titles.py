"""Titles of saved chats, made by the model that answers, in the background.

The request continues the chat itself: an engine that keeps what it has read of the chat keeps it
for the next prompt, too. So none is sent for a long chat, and none to a model that is slow or that
cannot answer without thinking first.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import ChatOptions, is_question
from ollm_tui.decode.clean import clean_line
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.chat_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import same_model
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.journal import ConversationJournal

if TYPE_CHECKING:
    from ollm_tui.models.thinking import ThinkingSupport

logger = logging.getLogger(__name__)

SLOWEST_TOKENS_PER_S: Final = 8.0
LATEST_FIRST_TOKEN_S: Final = 10.0
MAX_PROMPT_TOKENS: Final = 4000
MAX_CHARACTERS: Final = 16_000
"""Length of a chat whose tokens the server did not count."""
MAX_QUESTIONS: Final = 3
"""Questions after which the first one stays the title."""
MAX_LENGTH: Final = 60
"""Characters of a title."""
WITHIN_S: Final = 30.0
_MAX_TOKENS: Final = 48
_PROMPT: Final = (
    "Write a title for this chat: at most six words, in the language of my first message, without"
    " quotation marks and without a full stop. Answer with the title alone."
)
_REPEATED_WORDS: Final = 3
"""A title with this many words of the request in a row repeats it, as small models do."""
_WORD: Final = lazy_re(r"\w+")
_LABEL: Final = lazy_re(r"(?i)^(?:title|titel|titre|título|titolo)\s*:\s*")
_AROUND: Final = " \t*_#`\"'“”„«»\u2018\u2019"


def title_from(answer: str) -> str | None:
    """Return the title in a model's answer, or None if there is none."""
    lines = (clean_line(line).strip(_AROUND) for line in answer.splitlines())
    line = next(filter(None, lines), "")
    title = " ".join(_LABEL.sub("", line).strip(_AROUND).split())
    if title.endswith(".") and not title.endswith(".."):
        title = title[:-1].strip(_AROUND)
    if len(title) > MAX_LENGTH:
        kept = title[: MAX_LENGTH - 1]
        title = f"{kept.rpartition(' ')[0] or kept}…"
    is_title = any(letter.isalnum() for letter in title) and not _repeats_request(title)
    return title if is_title else None


def _repeats_request(title: str) -> bool:
    words = _WORD.findall(title.casefold())
    request = f" {' '.join(_WORD.findall(_PROMPT.casefold()))} "
    runs = (words[at : at + _REPEATED_WORDS] for at in range(len(words) - _REPEATED_WORDS + 1))
    return any(f" {' '.join(run)} " in request for run in runs)


class ChatTitles:
    """Makes the titles of saved chats."""

    def __init__(
        self,
        store: ConversationStore | None,
        unsaved: Callable[[Conversation], ChatClient],
        thinking_of: "Callable[[str], Awaitable[ThinkingSupport | None]]",
        *,
        is_on: bool,
    ) -> None:
        self._store = store
        self._unsaved = unsaved
        self._thinking_of = thinking_of
        self._is_on = is_on

    def is_wanted(self, client: ChatClient, timings: Timings | None, usage: Usage | None) -> bool:
        """Return whether an open chat should get a title now, after an answer of that speed."""
        conversation = client.conversation
        if not self._is_on or self._store is None or conversation.model is None:
            return False
        # Nothing of the chat goes to another model that was chosen meanwhile.
        if client.answered_by is None or not _is_same(conversation.model, client.answered_by):
            return False
        if conversation.own_title is not None or conversation.made_title is not None:
            return False
        journal = client.saving.journal
        if not isinstance(journal, ConversationJournal) or not journal.path:
            return False
        last = conversation.messages[-1]
        is_complete = last.role == "assistant" and "ended" not in last.metadata
        questions = sum(is_question(message) for message in conversation.messages)
        if not is_complete or not last.text or questions > MAX_QUESTIONS:
            return False
        return _is_fast(timings) and _is_short(conversation, usage)

    async def make(self, client: ChatClient, signal: AbortSignal) -> str | None:
        """Make and save a title; None if there is none, such as after an abort of the signal."""
        journal = client.saving.journal
        if self._store is None or not isinstance(journal, ConversationJournal):
            return None
        try:
            with anyio.move_on_after(WITHIN_S):
                chat_id = journal.conversation_id
                folder = self._store.states_dir / chat_id if self._store.saves else None
                # A model that is chosen meanwhile gets nothing of the chat.
                asked = replace(client.conversation, model=client.answered_by)
                title = title_from(await self._ask(asked, signal, folder))
                if title is None or signal.aborted or client.conversation.own_title is not None:
                    return None
                if await self._store.listing.title_by_model(chat_id, title, journal.watch):
                    client.conversation.made_title = title
                    return title
        except AIError as error:
            logger.info("No title was made: %s", error.message)
        return None

    async def _ask(
        self, conversation: Conversation, signal: AbortSignal, folder: Path | None
    ) -> str:
        support = await self._thinking_of(conversation.model or "")
        thinks = support is not None and support.thinks
        if thinks and support is not None and "off" not in support.allowed:
            return ""
        asked = replace(
            conversation,
            messages=list(conversation.messages),
            # the window stays: another one would have the model loaded again
            options=replace(
                conversation.options, max_tokens=_MAX_TOKENS, response_format=None, stop=None
            ),
            should_think=False if thinks else None,
            tools=(),
            dropped_call_ids=set(),
            fields_left_out=set(conversation.fields_left_out),
        )
        parts: list[str] = []
        client = self._unsaved(asked)
        options = ChatOptions(tools=(), state_folder=folder)  # it continues what was read of it
        async with client.chat(_PROMPT, options, signal) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    parts.append(event.delta)
                elif isinstance(event, ErrorEvent):
                    raise event.error
                elif isinstance(event, Finish) and event.reason not in {"stop", "length"}:
                    return ""
        return "".join(parts)


def _is_same(chosen: str, answered_by: str) -> bool:
    """Whether two addresses lead to the same model; the answer's is as its server lists it."""
    one, other = ModelRef.parse(chosen), ModelRef.parse(answered_by)
    if one is None or other is None:
        return False
    return one.provider == other.provider and same_model(one.model, other.model)


def _is_fast(timings: Timings | None) -> bool:
    if timings is None:
        return True
    speed, first = timings.tokens_per_s, timings.first_token_s
    is_late = first is not None and first - (timings.load_s or 0) > LATEST_FIRST_TOKEN_S
    return not is_late and (speed is None or speed >= SLOWEST_TOKENS_PER_S)


def _is_short(conversation: Conversation, usage: Usage | None) -> bool:
    if usage is not None and usage.prompt_tokens is not None:
        return usage.prompt_tokens + (usage.completion_tokens or 0) <= MAX_PROMPT_TOKENS
    return sum(len(message.text) for message in conversation.messages) <= MAX_CHARACTERS
