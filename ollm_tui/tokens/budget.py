"""What to leave out of a request so that the rest fits; the conversation itself is not changed.

A turn is a question with everything up to the next one: answers, tool calls and their results
stay together. System messages and the newest turn always stay; the oldest turns go first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ollm_tui.protocol.message import Message
from ollm_tui.tokens.count import Sizes
from ollm_tui.tokens.estimate import Attachment, attachment_tokens

SMALLEST_WINDOW = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which messages to send; positions count from the first message of the conversation."""

    kept: tuple[int, ...]
    left_out: tuple[int, ...]
    turns_left_out: int
    used: int
    """Tokens of what is kept, including system prompt and tools."""
    freed: int
    fits: bool

    def apply(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages to send."""
        return tuple(messages[position] for position in self.kept)


@dataclass(frozen=True, slots=True)
class LeaveOutTurns:
    """Do not send the oldest turns."""

    turns: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class RaiseWindow:
    """Load the model with a larger window."""

    num_ctx: int


@dataclass(frozen=True, slots=True)
class DropAttachments:
    """Do not send images and audio."""

    count: int
    freed: int
    """Roughly how many tokens they have."""
    fits: bool
    """Whether that alone is enough."""


@dataclass(frozen=True, slots=True)
class SendEverything:
    """Send everything again, which undoes the other two."""


ContextRemedy: TypeAlias = LeaveOutTurns | RaiseWindow | DropAttachments | SendEverything


def turns_of(messages: Sequence[Message]) -> list[list[int]]:
    """Divide the positions of all messages but the system's into turns, the oldest first."""
    turns: list[list[int]] = []
    for position, message in enumerate(messages):
        if message.role == "system":
            continue
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(position)
    return turns


def plan_without(messages: Sequence[Message], sizes: Sizes, turns: int, room: int) -> Plan:
    """Leave out this many of the oldest turns, but never the newest one."""
    all_turns = turns_of(messages)
    turns = max(0, min(turns, len(all_turns) - 1))
    left_out = {position for turn in all_turns[:turns] for position in turn}
    freed = sum(sizes.messages[position] for position in left_out)
    used = sizes.fixed + sum(sizes.messages) - freed
    return Plan(
        kept=tuple(p for p in range(len(messages)) if p not in left_out),
        left_out=tuple(sorted(left_out)),
        turns_left_out=turns,
        used=used,
        freed=freed,
        fits=used <= room,
    )


def plan_to_fit(messages: Sequence[Message], sizes: Sizes, room: int) -> Plan:
    """Leave out as few of the oldest turns as necessary; `fits` is whether that is enough.

    `room` is the window minus what is reserved for the answer.
    """
    excess = sizes.fixed + sum(sizes.messages) - room
    turns = 0
    for turn in turns_of(messages)[:-1]:
        if excess <= 0:
            break
        excess -= sum(sizes.messages[position] for position in turn)
        turns += 1
    return plan_without(messages, sizes, turns, room)


def remedies_for(
    messages: Sequence[Message],
    sizes: Sizes,
    room: int,
    *,
    reserve: int = 0,
    largest_window: int | None = None,
) -> tuple[ContextRemedy, ...]:
    """Return the remedies for a request that is too long, the best first.

    `reserve` is what `room` leaves for the answer; `largest_window` is what the model was trained
    for if its engine lets a request choose the window, else None.
    """
    used = sizes.fixed + sum(sizes.messages)
    if used <= room:
        return ()
    ways: list[ContextRemedy] = []
    plan = plan_to_fit(messages, sizes, room)
    if plan.fits:
        ways.append(LeaveOutTurns(plan.turns_left_out, plan))
    if largest_window is not None and used + reserve <= largest_window:
        ways.append(RaiseWindow(min(_rounded_up(used + reserve), largest_window)))
    if dropped := _attachments(messages):
        freed = sum(dropped)
        ways.append(DropAttachments(len(dropped), freed, used - freed <= room))
    return tuple(ways)


def _attachments(messages: Sequence[Message]) -> list[int]:
    blocks = (block for message in messages for block in message.content)
    return [attachment_tokens(block) for block in blocks if isinstance(block, Attachment)]


def _rounded_up(tokens: int) -> int:
    """Return the next power of two, which windows usually are."""
    return max(SMALLEST_WINDOW, 1 << (tokens - 1).bit_length())
