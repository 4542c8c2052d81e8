"""From a conversation to the messages of the next request; pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from itertools import compress, takewhile
from operator import attrgetter
from pathlib import Path
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.blocks import (
    MEDIA,
    AudioContent,
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.message import (
    COMMAND,
    COMPACTION,
    TEMPLATE_VALUES,
    Message,
    is_compaction,
)
from ollm_tui.protocol.request import GenerationOptions, ShouldThink
from ollm_tui.protocol.tools import STOPPED, ToolCall

EVERY_MEDIUM: Final = frozenset({"image", "audio", "video", "document"})
"""The types of content that is attached."""
_NAMED: Final = (ImageContent, AudioContent, VideoContent)
"""What is sent below its name; a document has a field for it."""
WRAP_UP: Final = "Answer now, with what you know so far. You can use no further tools."
"""Asks for an answer after the limit of turns."""
_MARKS: Final = frozenset({"correction", "ended", COMMAND, COMPACTION})
"""The metadata keys with which a chat marks messages of the user and of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Settings of one prompt that override those of the conversation."""

    model: str | None = None
    system_prompt: str | None = None
    template_format: str | None = None
    """`hf` or `jinja2` if the system prompt is a template in Jinja; a prompt that is one is passed
    as a `Message` with its own `template_format`."""
    template_values: JsonMapping | None = None
    """Values for the variables of all templates; those in the `metadata` of a message, below the
    same name, override them."""
    options: GenerationOptions | None = None
    should_think: ShouldThink | None = None
    tools: Sequence[str] | None = None
    """Names of the tools on offer; an empty sequence offers none."""
    max_turns: int | None = None
    wraps_up: bool = False
    """Whether the model is asked to answer now, without further tools."""
    schema: JsonMapping | None = None
    """A JSON Schema that the answer must match; it takes the place of `options.response_format`."""
    state_folder: Path | None = None
    """Where an engine may keep what it has read, if not in the folder of the chat."""


def merged_options(base: GenerationOptions, over: GenerationOptions | None) -> GenerationOptions:
    """Return `base` with the options that are set in `over`."""
    if over is None:
        return base
    chosen = {f.name: getattr(over, f.name) for f in fields(over)}
    return replace(base, **{name: value for name, value in chosen.items() if value is not None})


def has_results(history: Sequence[Message]) -> bool:
    """Whether tools were used since the newest prompt, or a command of the user goes with it."""
    is_prompt_seen = False
    for message in reversed(history):
        if message.metadata.get(COMMAND):
            return True
        if message.role == "user":  # several in a row are sent as one
            is_prompt_seen = is_prompt_seen or not message.metadata.get("correction")
        elif is_prompt_seen:
            return False
        elif message.role == "tool":
            return True
    return False


def messages_to_send(
    history: Sequence[Message],
    *,
    turns_left_out: int = 0,
    unsent: Collection[str] = (),
) -> tuple[Message, ...]:
    """Return a history that strict servers and chat templates accept, without its oldest turns.

    What a compaction stands for is not sent.

    Two user messages in a row, as a failed answer leaves them, are sent as one. Answers that are
    only thinking are left out, since they would be empty on the wire. A call without a result, as
    a crash leaves it, gets one that says it was stopped. A user message that is empty without what
    is left out goes together with its answer: nothing stands in the place of an image. A file is
    sent below its name, as the text of one is. `unsent` are the types of content to leave out.
    """
    sending, newest = SendBuilder(unsent), newest_turns(history, turns_left_out)
    sending.add(newest, 0, len(newest))
    return tuple(map(with_names, sending.messages))


class SendBuilder:
    """What is sent of a history, message by message; `messages_to_send` says what that is."""

    def __init__(self, unsent: Collection[str]) -> None:
        self._unsent = unsent
        self.messages: list[Message] = []
        """What is sent so far, without the names of files."""
        self._is_left_out = False
        """Whether the newest question was left out, so that its answer is too."""

    def rest(self, settled: int) -> "SendBuilder":
        """Return the same without its first messages, to go on from here."""
        other = SendBuilder(self._unsent)
        other.messages, other._is_left_out = self.messages[settled:], self._is_left_out
        return other

    @property
    def settled(self) -> int:
        """How many messages are sent as they are, whatever follows: a question may be joined."""
        is_open = bool(self.messages) and self.messages[-1].role == "user"
        return len(self.messages) - is_open

    def add(self, history: Sequence[Message], begin: int, end: int) -> None:
        """Add the messages of a part of the history, and the results that its calls lack."""
        for position in range(begin, end):
            message = history[position]
            self._add(message)
            if message.tool_calls:
                answered = results_after(history, position)
                for call in message.tool_calls:
                    if call.id not in answered:
                        self._add(no_result(call))

    def _add(self, whole: Message) -> None:
        message = _without(self._unsent, whole) if self._unsent else whole
        if message is not None and message.role == "assistant":
            message = _without_made(message)
        if is_question(whole):
            self._is_left_out = message is None
        if message is not None and not self._is_left_out and not _is_unsent(message):
            add_joined(self.messages, message)


def joined_questions(messages: Iterable[Message]) -> list[Message]:
    """Join user messages in a row, since some chat templates take no two."""
    sent: list[Message] = []
    for message in messages:
        add_joined(sent, message)
    return sent


def add_joined(sent: list[Message], message: Message) -> None:
    """Append a message, or join it with the last one if both are the user's."""
    if sent and message.role == sent[-1].role == "user":
        sent[-1] = joined(sent[-1], message)
    else:
        sent.append(message)


def no_result(call: ToolCall) -> Message:
    """Return the tool message of a call that was stopped."""
    return Message(
        "tool",
        STOPPED,
        name=call.name,
        tool_call_id=call.id,
        metadata={"outcome": "stopped", "is_error": True},
    )


def results_after(messages: Sequence[Message], position: int) -> dict[str, Message]:
    """Return the results that follow the calls of one message, by the call's id."""
    wanted = {call.id for call in messages[position].tool_calls}
    results: dict[str, Message] = {}
    following = map(messages.__getitem__, range(position + 1, len(messages)))
    for later in takewhile(lambda m: m.role == "tool", following):
        if later.tool_call_id in wanted:
            results.setdefault(later.tool_call_id, later)
    return results


def is_question(message: Message) -> bool:
    """Whether the user wrote it: no correction (part of an answer), no command, no summary."""
    marks = message.metadata
    is_other = marks.get("correction") or marks.get(COMMAND) or is_compaction(message)
    return message.role == "user" and not is_other


def sent_from(history: Sequence[Message]) -> int:
    """Return the position from which on a history is sent: that of the last compaction, or 0."""
    positions = range(len(history) - 1, -1, -1)
    marked = compress(positions, map(attrgetter("metadata"), reversed(history)))
    return next((at for at in marked if is_compaction(history[at])), 0)


def check_question(message: Message) -> None:
    """Check a message that a program sends as a prompt.

    Raises:
        AIError: BAD_REQUEST for another role than `user`, or metadata that the chat sets itself.
    """
    if message.role != "user":
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"A prompt has the role `user`, not {message.role!r}.",
            hint="Put other messages into `conversation.messages`.",
        )
    marks = sorted(_MARKS & message.metadata.keys())
    if marks:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The metadata key {marks[0]!r} of a prompt is set by the chat itself.",
            hint=f"Use another key, or put the variables of a template into `{TEMPLATE_VALUES}`.",
        )


def _without(kinds: Collection[str], message: Message) -> Message | None:
    """Leave blocks of these types out; return None if nothing else is in the message."""
    kept = [block for block in message.content if block.type not in kinds]
    if len(kept) == len(message.content):
        return message
    if not kept and not message.tool_calls:
        return None
    return replace(message, content=tuple(kept))


def _without_made(message: Message) -> Message:
    """Name the pictures, sound and video that a model made: no protocol takes them back."""
    kept = [block for block in message.content if not isinstance(block, MEDIA)]
    if len(kept) == len(message.content):
        return message
    names = " ".join(f"[{block.type}]" for block in message.content if isinstance(block, MEDIA))
    return replace(message, content=(*kept, TextContent(names)))


def with_names(message: Message) -> Message:
    """Insert the file name before each named file; most protocols have no field for it."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, _NAMED) and block.name:
            before = content[-1] if content else None
            is_below_words = isinstance(before, TextContent) and not before.text.endswith("\n")
            apart = "\n\n" if is_below_words else ""
            content.append(TextContent(f"{apart}{clean_name(block.name)}:\n"))
        content.append(block)
    if len(content) == len(message.content):
        return message  # as almost every one: copies of a long chat would take time
    return replace(message, content=tuple(content))


def newest_turns(history: Sequence[Message], turns_left_out: int) -> Sequence[Message]:
    """Leave out what a compaction stands for, and the oldest turns; the newest always stays."""
    sent = history[begin:] if (begin := sent_from(history)) else history
    if turns_left_out <= 0:
        return sent
    starts = turn_starts(sent)
    left_out = min(turns_left_out, len(starts) - 1)
    if left_out <= 0:
        return sent
    newest = sent[starts[left_out] :]
    return (sent[0], *newest) if is_compaction(sent[0]) else newest


def turn_starts(history: Sequence[Message]) -> list[int]:
    """Return where each turn begins; user messages that are sent as one are one turn."""
    starts: list[int] = []
    before = ""
    for position, message in enumerate(history):
        if _is_unsent(message) or is_compaction(message):
            continue
        if message.role == "user" and before != "user":
            starts.append(position)
        before = message.role
    return starts


def _is_unsent(message: Message) -> bool:
    if message.role != "assistant" or message.tool_calls:
        return False
    return all(isinstance(block, ThinkingContent) for block in message.content)


def joined(first: Message, second: Message) -> Message:
    """Return two user messages in a row as one."""
    content: list[Block] = [*first.content, TextContent("\n\n"), *second.content]
    return replace(
        second,
        content=tuple(content),
        name=second.name or first.name,
        template_format=second.template_format or first.template_format,
    )
