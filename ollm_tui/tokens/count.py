"""`TokenCounter`: how many tokens a request has, from the best source available."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from anyio import to_thread

from ollm_tui.config.foreign import foreign_code
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.sequence_cache import SequenceCache
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsTextTokenCount, SupportsTokenCount
from ollm_tui.protocol.request import Request
from ollm_tui.tokens.encodings import Encoding, Encodings
from ollm_tui.tokens.estimate import (
    CountText,
    Piece,
    fallback_estimate,
    fixed_pieces,
    message_pieces,
    piece_tokens,
)

logger = logging.getLogger(__name__)

CountSource: TypeAlias = Literal["engine", "tokenizer", "estimate"]
"""The engine that will answer; only the model's tokenizer, here or on the server; or an estimate of
a quarter of the characters."""
FRAME_TOKENS = 4
"""Tokens that the chat format of OpenAI adds to each message, and `REPLY_TOKENS` at the end."""
REPLY_TOKENS = 3
MIN_RATIO = 0.25
MAX_RATIO = 8.0
OLDER_WEIGHT = 0.5
"""The weight of older reports when a new one arrives."""
CAUTION_TOKENS = 300
"""Tokens assumed to be estimated correctly, because short requests are mostly template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """A count and its source."""

    tokens: int
    source: CountSource
    model: str
    uncorrected: int
    """The count before the correction learned for the model was applied."""

    @property
    def estimated(self) -> bool:
        """Whether the engine may count differently; only its own count is exact."""
        return self.source != "engine"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The token counts of a request's parts, which add up to the whole."""

    fixed: int
    """System prompt, tools, and the template around the conversation."""
    messages: tuple[int, ...]


@dataclass(slots=True)
class Correction:
    """A ratio of reported to estimated tokens; newer and longer requests weigh more."""

    estimated: float = 0.0
    reported: float = 0.0

    @property
    def ratio(self) -> float:
        """The factor for estimates, between MIN_RATIO and MAX_RATIO."""
        return (self.reported + CAUTION_TOKENS) / (self.estimated + CAUTION_TOKENS)

    def learn(self, estimated: int, reported: int) -> None:
        """Learn from one report.

        One that is far too small is ignored: some servers do not count what they had cached.
        """
        if estimated <= 0 or reported < MIN_RATIO * estimated:
            return
        self.estimated = OLDER_WEIGHT * self.estimated + estimated
        self.reported = OLDER_WEIGHT * self.reported + min(reported, MAX_RATIO * estimated)

    def apply(self, estimate: int) -> int:
        """Return the corrected estimate, at least one."""
        return max(1, round(estimate * self.ratio))


class PieceCounter:
    """Counts the pieces of requests, each once.

    Messages and pieces are compared by identity: a conversation keeps them, and they do not change.
    A message that is made anew from the same pieces is added up again. Messages of the last
    requests are remembered, and pieces of those messages that the last one added.
    """

    def __init__(self, count_text: CountText) -> None:
        self._count_text = count_text
        self._messages = SequenceCache(self._message_tokens)
        self._known: dict[int, tuple[Piece, int]] = {}
        self._fresh: dict[int, tuple[Piece, int]] = {}

    def count(self, request: Request) -> list[int]:
        """Return the tokens of what is always sent, and of each message; may run in a thread."""
        fixed = sum(map(self._piece_tokens, fixed_pieces(request)))
        messages = self._messages.values(request.conversation)
        self._known, self._fresh = self._fresh, {}
        return [fixed, *messages]

    def _message_tokens(self, message: Message) -> int:
        return sum(map(self._piece_tokens, message_pieces(message)))

    def _piece_tokens(self, piece: Piece) -> int:
        known = self._known.get(id(piece)) or self._fresh.get(id(piece))
        # The piece is kept next to its count, so that no other piece can have the same id.
        counted = known or (piece, piece_tokens(piece, self._count_text))
        self._fresh[id(piece)] = counted
        return counted[1]


class TokenCounter:
    """Counts requests; keep one for the whole of a conversation.

    `encodings` may be shared by all conversations of a process.
    """

    def __init__(self, encodings: Encodings | None = None) -> None:
        self._encodings = encodings or Encodings()
        self._rough = PieceCounter(fallback_estimate)
        self._fine: tuple[str, PieceCounter] | None = None
        self._corrections: dict[tuple[str, CountSource], Correction] = {}

    async def count(self, request: Request, provider: object | None = None) -> TokenCount:
        """Count with the provider's engine if possible, else locally; never fails.

        An engine may have to load the model first, as it would for the answer.
        """
        model = request.model
        if isinstance(provider, SupportsTokenCount):
            tokens = await _counted(model, lambda: provider.count_tokens(request), "engine")
            if tokens is not None and tokens > 0:
                return TokenCount(tokens=tokens, source="engine", model=model, uncorrected=tokens)
        if isinstance(provider, SupportsTextTokenCount):
            tokens = await _server_count(provider, model, _groups(request))
            if tokens is not None:
                return self._corrected(model, "tokenizer", tokens)
        encoding = await self._encodings.encoding_for(request.model)
        if encoding is None:
            return self.estimate(request)
        sums = await self._sums(request, encoding)
        return self._corrected(request.model, "tokenizer", sum(sums))

    def estimate(self, request: Request) -> TokenCount:
        """Estimate at once, for a figure on the screen while the user types."""
        return self._corrected(request.model, "estimate", sum(self._rough.count(request)))

    def recount(self, request: Request, base: TokenCount, base_estimate: int) -> int:
        """Estimate at once what a request has become since `base`, its earlier estimate.

        Corrections learned since then apply to the whole request, not only to what was added.
        """
        estimate = self.estimate(request)
        if base.source == "estimate":
            return estimate.tokens
        tokens = max(1, base.uncorrected + estimate.uncorrected - base_estimate)
        if base.source == "engine":
            return tokens
        return self._corrected(base.model, base.source, tokens).tokens

    async def sizes(self, request: Request, counted: TokenCount) -> Sizes:
        """Divide a count among the messages, in proportion to their own estimates."""
        encoding = await self._encodings.encoding_for(request.model)
        fixed, *messages = await self._sums(request, encoding)
        shares = _divided(counted.tokens, [*messages, fixed])
        return Sizes(shares[-1], tuple(shares[:-1]))

    def learn(self, counted: TokenCount, reported: int | None) -> None:
        """Learn from the server's report on a counted request, for the model's next counts."""
        if reported is not None and counted.estimated:
            key = (counted.model, counted.source)
            correction = self._corrections.setdefault(key, Correction())
            correction.learn(counted.uncorrected, reported)

    async def _sums(self, request: Request, encoding: Encoding | None) -> list[int]:
        if encoding is None:
            return self._rough.count(request)
        count = self._counter_of(encoding).count
        fixed, *messages = await to_thread.run_sync(count, request, abandon_on_cancel=True)
        return [fixed + REPLY_TOKENS, *(tokens + FRAME_TOKENS for tokens in messages)]

    def _counter_of(self, encoding: Encoding) -> PieceCounter:
        """Return the counter for one tokenizer, dropping that of another model's."""
        if self._fine is None or self._fine[0] != encoding.name:
            self._fine = encoding.name, PieceCounter(encoding.count)
        return self._fine[1]

    def _corrected(self, model: str, source: CountSource, tokens: int) -> TokenCount:
        tokens = max(1, tokens)
        correction = self._corrections.get((model, source)) or Correction()
        return TokenCount(
            tokens=correction.apply(tokens), source=source, model=model, uncorrected=tokens
        )


async def _counted(model: str, count: Callable[[], Awaitable[int]], counter: str) -> int | None:
    """Await a count; return None if the adapter raised anything."""

    def problem(error: BaseException) -> AIError:
        return AIError(ErrorCode.ENGINE_ERROR, type(error).__name__)

    try:
        with foreign_code(f"The tokens of {model} could not be counted", problem):
            return await count()
    except AIError as error:
        logger.info("The %s of %s did not count: %s", counter, model, error.message)
        return None


async def _server_count(
    provider: SupportsTextTokenCount, model: str, groups: Sequence[Sequence[Piece]]
) -> int | None:
    """Count all texts at once with the server's tokenizer, and add the template around messages."""
    texts: list[str] = []

    def note(text: str) -> int:
        texts.append(text)
        return 0

    other = sum(piece_tokens(piece, note) for group in groups for piece in group)
    text = "\n".join(texts)
    tokens = await _counted(model, lambda: provider.count_text_tokens(model, text), "tokenizer")
    if tokens is None:
        return None
    return tokens + other + FRAME_TOKENS * (len(groups) - 1) + REPLY_TOKENS


def _groups(request: Request) -> list[list[Piece]]:
    return [list(fixed_pieces(request)), *map(message_pieces, request.conversation)]


def _divided(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number in proportion to weights, without a remainder."""
    total_weight = sum(weights)
    shares, weight_so_far, distributed = [], 0, 0
    for weight in weights[:-1]:
        weight_so_far += weight
        share = total * weight_so_far // total_weight - distributed if total_weight else 0
        shares.append(share)
        distributed += share
    return [*shares, total - distributed]
