"""What stands in the columns about models."""

from collections.abc import Collection

from ollm_tui.cli.figures import size_text
from ollm_tui.library.fit import Fit, fit_words
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.protocol.model import ModelInfo

_YES_NO = {True: "yes", False: "no"}
_KINDS = ("audio", "image", "video")


def abilities_text(info: ModelInfo) -> str:
    """Give each ability that something is known of, and how where it is not the engine's word."""
    held = capabilities_of(info)
    parts = []
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value is not None:
            source = "" if fact.source == "known" else f" ({fact.source})"
            parts.append(f"{name} {_YES_NO[fact.value]}{source}")
    return ", ".join(parts)


def can_text(info: ModelInfo) -> str:
    """Give what a model can do in a few words: `?` is assumed, `!` is set by a person."""
    if info.details.get("problem"):
        return "unusable"
    held, can = capabilities_of(info), info.capability
    words = ["chat"] if can is not None and "text" in can.output else []
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value:
            words.append(name + {"known": "", "assumed": "?", "set": "!"}[fact.source])
    if can is not None:
        words += [kind for kind in _KINDS if kind in can.output]
        words += ["hears"] if "audio" in can.input else []
    return " ".join(words)


def modalities_text(kinds: Collection[str]) -> str:
    """Give what goes in or comes out."""
    return ", ".join(sorted(kinds))


def fit_text(fit: Fit | None) -> str:
    """Give the verdict with its numbers, and what takes the memory."""
    if fit is None:
        return ""
    parts = f"{size_text(fit.weights)} model, {size_text(fit.cache)} context of {fit.context}"
    return f"{fit_words(fit)}; {parts} tokens"
