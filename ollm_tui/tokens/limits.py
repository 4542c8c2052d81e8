"""Whether a request fits a model's context window, and what to leave out so that it does.

A turn is a question with everything up to the next one; the oldest go first, the newest stays.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.blocks import MEDIA
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.tokens.count import Sizes, TokenCount
from ollm_tui.tokens.estimate import attachment_tokens

ASSUMED_WINDOW = 4096
WARN_AT = 0.9

WindowSource: TypeAlias = Literal["settings", "request", "engine", "family", "assumed"]
"""The user's setting, the request's own num_ctx, the engine's report, the model's family, or an
assumption."""
VerdictKind: TypeAlias = Literal["ok", "warning", "blocked"]
MIN_WINDOW = 2048


@dataclass(frozen=True, slots=True)
class Window:
    """The number of tokens that a model holds as it is loaded now, and its source."""

    tokens: int
    source: WindowSource

    @property
    def assumed(self) -> bool:
        """Whether the window is a guess, which warns but never blocks."""
        return self.source in ("family", "assumed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A count compared to a window."""

    kind: VerdictKind
    used: int
    limit: int
    estimated: bool
    """Whether the count is an estimate; the window may be assumed in any case."""
    assumed: bool


def choose_window(
    *,
    settings: int | None = None,
    num_ctx: int | None = None,
    engine: int | None = None,
    family: int | None = None,
) -> Window:
    """Return the window that will hold the request.

    Pass `num_ctx` only for an engine that loads the model with it, and `family` only for a service,
    which has the whole window; sizes below one are unknown.
    """
    sources: tuple[tuple[WindowSource, int | None], ...] = (
        ("settings", settings),
        ("request", num_ctx),
        ("engine", engine),
        ("family", family),
    )
    for source, tokens in sources:
        if tokens is not None and tokens > 0:
            return Window(tokens, source)
    return Window(ASSUMED_WINDOW, "assumed")


def check(counted: TokenCount, window: Window, *, warn_at: float = WARN_AT) -> Verdict:
    """Warn from `warn_at` of the window on, and block above all of it, if it is known."""
    kind: VerdictKind = "ok"
    if counted.tokens > window.tokens and not window.assumed:
        kind = "blocked"
    elif counted.tokens >= window.tokens * Fraction(warn_at).limit_denominator(1000):
        kind = "warning"
    return Verdict(
        kind=kind,
        used=counted.tokens,
        limit=window.tokens,
        estimated=counted.estimated,
        assumed=window.assumed,
    )


def exceeded(verdict: Verdict, hint: str | None = None) -> AIError:
    """Make the error for a blocked request; `hint` names the remedies."""
    about = "about " if verdict.estimated else ""
    return AIError(
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        f"The conversation has {about}{verdict.used:,} tokens; the model holds {verdict.limit:,}.",
        hint=hint or "Start a new chat, or choose a model with a larger window.",
        details={"prompt_tokens": verdict.used, "context_tokens": verdict.limit},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The messages to send; positions count from the first message of the conversation."""

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
    max_window: int | None = None,
) -> tuple[ContextRemedy, ...]:
    """Return the remedies for a request that is too long, the best first.

    `reserve` is what `room` leaves for the answer; `max_window` is what the model was trained
    for if its engine lets a request choose the window, else None.
    """
    used = sizes.fixed + sum(sizes.messages)
    if used <= room:
        return ()
    remedies: list[ContextRemedy] = []
    plan = plan_to_fit(messages, sizes, room)
    if plan.fits:
        remedies.append(LeaveOutTurns(plan.turns_left_out, plan))
    if max_window is not None and used + reserve <= max_window:
        remedies.append(RaiseWindow(min(_rounded_up(used + reserve), max_window)))
    blocks = (block for message in messages for block in message.content)
    if dropped := [attachment_tokens(b) for b in blocks if isinstance(b, MEDIA)]:
        freed = sum(dropped)
        remedies.append(DropAttachments(len(dropped), freed, used - freed <= room))
    return tuple(remedies)


def _rounded_up(tokens: int) -> int:
    """Return the next power of two, which windows usually are."""
    return max(MIN_WINDOW, 1 << (tokens - 1).bit_length())
