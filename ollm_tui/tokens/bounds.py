"""`PromptBound`: how many tokens a request has at most, by the reported count of an earlier one.

A chat sends what it sent before, and some more. With the count of an answer as its server reported
it, only the rest is unknown, and that has no more tokens than bytes. So most requests need not be
counted to know that they fit.
"""

from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.blocks import MEDIA
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.sent_messages import common_length
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tokens.estimate import Piece, fixed_pieces, piece_tokens

MAX_FRAME_TOKENS: Final = 32
"""More than the chat templates of known models put around a message."""


@dataclass(slots=True)
class _Known:
    """A request whose tokens were reported, and the answer to it."""

    model: str
    fixed: tuple[Piece, ...]
    messages: tuple[Message, ...]
    """They and their pieces are compared by identity, as a conversation keeps them."""
    tokens: int
    answer_tokens: int
    """None of an answer that another one may have replaced."""


class PromptBound:
    """Bounds the requests of one conversation from above."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def most(self, request: Request) -> int | None:
        """Return the most tokens that a request may have; None if it is to be counted.

        That is one with media, and one that another system prompt, tool or model makes new.
        """
        known, fixed = self._known, tuple(fixed_pieces(request))
        if known is None:
            return None
        # All but the end of a chat is as it was: it would take longer to look at every piece.
        same = common_length(known.messages, request.conversation)
        follows = request.conversation[same : same + 1]
        if same < len(known.messages) or not follows or follows[0].role != "assistant":
            # Asked anew, so that another answer may come, whose length nobody reports.
            known.answer_tokens = 0
        if known.model != request.model or known.fixed != fixed:
            return None
        pieces_before = {id(one): one for old in known.messages[same:] for one in _pieces(old)}
        tokens, answer_tokens = known.tokens, known.answer_tokens
        for message in request.conversation[same:]:
            if _has_media(message):
                return None
            pieces = _pieces(message)
            if pieces and all(pieces_before.get(id(one)) is one for one in pieces):
                continue
            most = _upper_bound(message)
            if message.role == "assistant" and answer_tokens:
                # what the model wrote, which is read as it wrote it
                most, answer_tokens = min(most, answer_tokens + MAX_FRAME_TOKENS), 0
            tokens += most
        return tokens

    def learn(self, request: Request, usage: Usage) -> None:
        """Note what a server reported of a request."""
        if usage.prompt_tokens is None:
            return
        same = common_length(self._known.messages, request.conversation) if self._known else 0
        if any(map(_has_media, request.conversation[same:])):
            self._known = None
            return
        self._known = _Known(
            model=request.model,
            fixed=tuple(fixed_pieces(request)),
            messages=request.conversation,
            tokens=usage.prompt_tokens,
            answer_tokens=usage.completion_tokens or 0,
        )


def _has_media(message: Message) -> bool:
    return any(isinstance(block, MEDIA) for block in message.content)


def _pieces(message: Message) -> tuple[Piece, ...]:
    """Return all pieces of a message: some templates keep its thinking."""
    return (*message.content, *message.tool_calls)


def _upper_bound(message: Message) -> int:
    return MAX_FRAME_TOKENS + sum(map(_bytes_of, _pieces(message)))


def _bytes_of(piece: Piece) -> int:
    if isinstance(piece, ToolCall) and piece.args is None:
        return _bytes(piece.name) + _bytes(piece.raw_args or "")
    return piece_tokens(piece, _bytes)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
