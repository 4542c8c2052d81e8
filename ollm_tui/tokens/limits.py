"""How much a model can hold, and whether a request still fits."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tokens.count import TokenCount

ASSUMED_WINDOW = 4096
WARN_AT = 0.9

WindowSource: TypeAlias = Literal["settings", "request", "engine", "assumed"]
"""The user's setting, the request's own num_ctx, the engine's report, or an assumption."""
VerdictKind: TypeAlias = Literal["ok", "warning", "blocked"]


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model holds as it is loaded now, and the source of that number."""

    tokens: int
    source: WindowSource

    @property
    def assumed(self) -> bool:
        """Whether the window is a guess, which warns but never blocks."""
        return self.source == "assumed"


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
    *, settings: int | None = None, num_ctx: int | None = None, engine: int | None = None
) -> Window:
    """Return the window that will hold the request.

    Pass `num_ctx` only for an engine that loads the model with it; sizes below one are unknown.
    """
    sources: tuple[tuple[WindowSource, int | None], ...] = (
        ("settings", settings),
        ("request", num_ctx),
        ("engine", engine),
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
