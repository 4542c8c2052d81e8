"""What a request goes without because its protocol has no place for it, and how that is said."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request
from ollm_tui.providers.unsupported import unsent_options

Say: TypeAlias = Callable[[LeftOut], object]
"""Takes each field that somebody set and that is not sent, with every request anew."""
UNSENT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "openai-compatible": frozenset({"num_ctx", "keep_alive"}),
        "openai": frozenset({"top_k", "min_p", "repeat_penalty", "num_ctx", "keep_alive"}),
        "anthropic": frozenset({"min_p", "repeat_penalty", "seed", "num_ctx", "keep_alive"}),
    }
)
"""The options that are never sent to a provider of a kind: its protocol has no place for them."""


def unsaid(event: LeftOut) -> None:
    """Say it to nobody: for requests that only count."""


def say_unsent(request: Request, kind: str, say: Say) -> None:
    """Say which options of a request its provider has no place for."""
    for name in unsent_options(request.options, UNSENT[kind]):
        say_left_out(name, say)


def say_nameless(request: Request, say: Say) -> None:
    """Say that messages go without the names of who wrote them."""
    if any(message.name for message in request.conversation if message.role != "tool"):
        say_left_out("messages.name", say)


def say_left_out(name: str, say: Say) -> None:
    """Say of one field that this server's protocol has none of its kind."""
    why = AIError(
        ErrorCode.UNSUPPORTED_FEATURE, f"The protocol of this server has no place for `{name}`."
    )
    say(LeftOut(name, why))
