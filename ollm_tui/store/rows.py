"""Chats as rows of the database: the vocabulary as columns and back; pure."""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol, TypeAlias, get_args

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_guard import json_slices, repaired
from ollm_tui.protocol.blocks import TextContent, UnknownContent
from ollm_tui.protocol.codec import message_from_json, message_to_json
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import COMMAND, Message
from ollm_tui.protocol.request import GenerationOptions, ShouldThink
from ollm_tui.store.branches import Branch, ChatState, branches

_RANDOM_BITS = 74


def new_id(now_ms: int) -> str:
    """Return a UUID of version 7 (RFC 9562), which sorts by its time of creation."""
    chance = secrets.randbits(_RANDOM_BITS)
    high, low = chance >> 62, chance & ((1 << 62) - 1)
    number = (now_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    return str(uuid.UUID(int=number))


MessageState: TypeAlias = Literal["complete", "streaming", "interrupted", "stopped", "failed"]
Deleted: TypeAlias = Literal["here", "elsewhere"]
"""Which program deleted a conversation: this one or another."""
ENDED: Final = "ended"
"""The metadata key for how an answer ended; a complete answer has none."""
_STATES: Final[Mapping[str, MessageState]] = {state: state for state in get_args(MessageState)}
TITLE_LENGTH: Final = 200
_TEXT_STARTS: Final[Mapping[str, str]] = {
    role: f'{{"role":"{role}","content":[{{"type":"text","text":"' for role in ("user", "assistant")
}
"""How most messages begin, which are read without making objects of the JSON around the text."""
_TEXT_END: Final = "}]}"
_JSON: Final = json.JSONDecoder()
SUMMARY: Final = (
    "c.id, c.title, c.updated_ms, m.depth, c.model, c.revision, c.total_messages, c.number,"
    " c.created_ms, c.size_bytes, c.tags, c.is_pinned, c.is_archived, c.deleted_ms"
)
"""The columns of one line of the list of chats; `m` is the end of the branch shown last."""


class HasSettings(Protocol):
    """The settings of a conversation, read when a message begins; a `Conversation` has them."""

    @property
    def profile(self) -> str | None:
        """Name of the profile that was chosen last."""

    @property
    def model(self) -> str | None:
        """`provider://model` or a bare name."""

    @property
    def system_prompt(self) -> str | None:
        """The system prompt."""

    @property
    def system_prompt_format(self) -> str | None:
        """The language in which it is a template; None is plain text."""

    @property
    def options(self) -> GenerationOptions:
        """Sampling and length."""

    @property
    def should_think(self) -> ShouldThink | None:
        """How much the model thinks."""

    @property
    def tools(self) -> Sequence[str]:
        """Names of the tools on offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """The settings when a message began."""

    profile: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    system_prompt_format: str | None = None
    options: GenerationOptions = field(default_factory=GenerationOptions)
    should_think: ShouldThink | None = None
    tools: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: HasSettings) -> "ConversationSettings":
        """Copy settings that may change later."""
        return cls(
            profile=source.profile,
            model=source.model,
            system_prompt=source.system_prompt,
            system_prompt_format=source.system_prompt_format,
            options=source.options,
            should_think=source.should_think,
            tools=tuple(source.tools),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One message on its way to the database."""

    id: str
    conversation_id: str
    parent_id: str | None
    depth: int
    """Length of its path, itself included."""
    message: Message
    state: MessageState
    created_ms: int
    updated_ms: int
    settings: ConversationSettings | None = None
    """Set for a new message, which becomes the leaf of the active path."""
    has_new_settings: bool = True
    """Whether the settings may differ from those of the messages before it."""
    own_title: str | None = None
    """The title that the user gave, for a conversation that begins with this message."""
    copy_of: str | None = None
    """The message that this one repeats on another branch, with its model and its time."""

    def grown(self, message: Message, state: MessageState, now_ms: int) -> "MessageRow":
        """Return the row of the same message in a later form."""
        return replace(self, message=message, state=state, updated_ms=now_ms, settings=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message as it was read."""

    id: str
    message: Message
    state: MessageState


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    """One line of the list of chats."""

    id: str
    title: str
    """Empty before the first prompt."""
    updated_ms: int
    message_count: int
    """Length of the active path."""
    model: str | None
    revision: int = 0
    """Changes with every change of the chat."""
    total_messages: int = 0
    """Number of messages in all branches."""
    number: int = 0
    """Its row in the database."""
    created_ms: int = 0
    size_bytes: int = 0
    """Bytes of its messages in all branches."""
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    is_archived: bool = False
    deleted_ms: int | None = None
    """When it was deleted; None if it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConversation:
    """A chat as it was read: one branch, and the state of the others."""

    id: str
    title: str
    settings: ConversationSettings
    messages: tuple[StoredMessage, ...]
    state: ChatState
    """The whole chat at the moment it was read."""

    @property
    def history(self) -> list[Message]:
        """The messages of the active path; unfinished answers have `interrupted` as metadata."""
        return [stored.message for stored in self.messages]

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches, the one that was continued last first, compared with the one read."""
        return branches(self.state.nodes, [message.id for message in self.messages])


def ended_state(message: Message) -> MessageState:
    """Return how a finished message has ended."""
    ended = message.metadata.get(ENDED)
    is_known = isinstance(ended, str) and ended != "streaming"
    return _STATES.get(str(ended), "complete") if is_known else "complete"


def column(text: str | None) -> str | None:
    """Return text for a column, without NULs, at which SQLite's functions stop."""
    return None if text is None else repaired(text).replace("\0", "\ufffd")


def encoded(message: Message) -> bytes:
    """Return a message as JSON in UTF-8; only its text if JSON cannot hold it."""
    try:
        return _json(message_to_json(message))
    except (RecursionError, TypeError, ValueError) as error:
        note: JsonObject = {"not_saved": str(error)}
        text = Message(message.role, message.text or "�", metadata=note)
        return _json(message_to_json(text))


def decoded(message_id: str, role: str, state: str, body: str) -> StoredMessage:
    """Read a message; one that cannot be read becomes an `UnknownContent` with its body."""
    try:
        message = _only_text(role, body) or message_from_json(json.loads(body))
    except (AIError, ValueError, TypeError, AttributeError, RecursionError):
        message = Message(role or "unknown", [UnknownContent("unreadable", {"body": body})])
    known = _STATES.get(state, "complete")
    if known in {"streaming", "interrupted"} and ENDED not in message.metadata:
        message = replace(message, metadata={**message.metadata, ENDED: "interrupted"})
    return StoredMessage(id=message_id, message=message, state=known)


def _only_text(role: str, body: str) -> Message | None:
    """Read a question or an answer that is nothing but a text; None for any other."""
    start = _TEXT_STARTS.get(role)
    if start is None or not body.startswith(start):
        return None
    text, end = _JSON.raw_decode(body, len(start) - 1)
    return Message(role, (TextContent(text),)) if body[end:] == _TEXT_END else None


def title_of(message: Message) -> str:
    """Return the first line of a user message; empty for any other, and for a command."""
    if message.role != "user" or message.metadata.get(COMMAND):
        return ""
    line = next(iter(message.text.strip().splitlines()), "")
    return (column(line) or "")[:TITLE_LENGTH].strip()


def summary_of(row: Sequence[str | int | None]) -> ConversationSummary:
    """Read one row with the columns of `SUMMARY`."""
    conversation_id, title, updated_ms, depth, model, revision, total, *others = row
    number, created_ms, size_bytes, tags, is_pinned, is_archived, deleted_ms = others
    return ConversationSummary(
        id=str(conversation_id),
        title=str(title),
        updated_ms=int(updated_ms or 0),
        message_count=int(depth or 0),
        model=None if model is None else str(model),
        revision=int(revision or 0),
        total_messages=int(total or 0),
        number=int(number or 0),
        created_ms=int(created_ms or 0),
        size_bytes=int(size_bytes or 0),
        tags=tuple(str(tags or "").split()),
        is_pinned=bool(is_pinned),
        is_archived=bool(is_archived),
        deleted_ms=None if deleted_ms is None else int(deleted_ms),
    )


def _json(value: JsonValue) -> bytes:
    """Return compact JSON, encoded in slices so that the event loop can run in between."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    return b"".join(json_slices(value, encoder))
