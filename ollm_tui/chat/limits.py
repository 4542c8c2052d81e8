"""How far one prompt may go before a person is asked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """Bounds on one prompt."""

    max_turns: int = 10
    """Requests for one prompt, each followed by the tools it asked for."""
    calls_per_turn: int = 64
    """Further calls of a turn get an error result that says so."""
    prompt_s: float | None = 1800.0
    """Whole time of a prompt, tools included; None is no bound."""
    corrections: int = 2
    """How often a malformed call written as text is sent back for correction."""
