"""What is said of any model: whether it chats, and how long it stays loaded; pure."""

from datetime import datetime
from typing import Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.model import ModelCapability, ModelInfo

FOREVER_S: Final = 10 * 365 * 86_400
"""A model that stays loaded for longer stays until it is unloaded."""
_MAX_PROBLEM_LENGTH: Final = 300


def can_chat(info: ModelInfo) -> bool:
    """Return whether a model may answer with text, as far as is known."""
    return why_no_chat(info) is None


def why_no_chat(info: ModelInfo, name: str = "It") -> str | None:
    """Return a sentence on why a model cannot chat, or None if nothing speaks against it."""
    if problem := problem_of(info):
        return f"{name} cannot be used: {clean_line(problem[:_MAX_PROBLEM_LENGTH])}."
    known = info.capability or ModelCapability()
    if known.output and "text" not in known.output:
        return f"{name} gives no text."
    return f"{name} takes no text." if known.input and "text" not in known.input else None


def problem_of(info: ModelInfo) -> str | None:
    """Return what is wrong with the file of a model, or None."""
    problem = info.details.get("problem")
    return problem if isinstance(problem, str) and problem else None


def seconds_left(until: object, now: datetime) -> float | None:
    """Return how long a model stays loaded if it is not used, or None if that is not known.

    `until` is an ISO date with a time zone, as a server reports it.
    """
    if not isinstance(until, str):
        return None
    try:
        return (datetime.fromisoformat(until) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def left_words(until: str | None, now: datetime) -> str:
    """Return how long a loaded model stays if it is not used; empty if that is not known."""
    left = seconds_left(until, now)
    if left is None:
        return ""
    if left > FOREVER_S:
        return "stays until unloaded"
    if left <= 0:
        return "unloading"
    minutes = round(left / 60)
    return f"for {minutes} min more" if minutes < 120 else f"for {minutes // 60} h more"
