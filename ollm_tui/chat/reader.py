"""`AnswerReader`: reads calls that a model writes as text, between a provider and its turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from ollm_tui.protocol.provider_events import (
    End,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)

_CUT: Final = frozenset({"abort", "length", "content_filter", "refusal", "error"})
"""Reasons of an end that was not the model's own: what came last may not be whole."""


def is_cut(end: End) -> bool:
    """Whether the text ended elsewhere than where the model wanted it to."""
    return not isinstance(end, Finish) or end.reason in _CUT


class AnswerReader(Protocol):
    """Turns a provider's events into events again; pure, one per answer."""

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Take one event that is no end; give what it amounts to."""
        ...

    def finish(self, end: End) -> Sequence[ProviderEvent]:
        """Give what was held back; how the answer ended says whether a call in it is whole."""
        ...

    def is_cut(self, end: Finish) -> bool:
        """Whether a call of the answer may not be whole, so that none is run."""
        ...

    @property
    def correction(self) -> str | None:
        """What to tell the model about a call that cannot be read; None when all is well."""
        ...


class PlainReader:
    """Native tool calls and no tools at all: everything passes as it is."""

    correction: str | None = None

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Pass it on."""
        return (event,)

    def finish(self, end: End) -> Sequence[ProviderEvent]:
        """Nothing was held back."""
        return ()

    def is_cut(self, end: Finish) -> bool:
        """Tell by the reason alone."""
        return is_cut(end)


class AnswerStart:
    """Drops the blank lines between the end of the reasoning and the answer.

    Servers that divide the two leave them at the beginning of the text. White space is held back
    until the first other character, whose line keeps its indent.
    """

    def __init__(self) -> None:
        self._is_after_thinking = False
        self._indent: list[str] = []
        """White space of the newest line, in pieces: some models send nothing else for minutes."""

    def feed(self, event: ProviderEvent) -> ProviderEvent:
        """Take the next event; text of which nothing is left yet is given as an empty piece."""
        match event:
            case ThinkingDelta(index=0, delta=delta) if delta:
                self._is_after_thinking = True
                self._indent.clear()
            case TextDelta(index=0) if self._is_after_thinking:
                return replace(event, delta=self._begun(event.delta))
            case _:
                pass
        return event

    def _begun(self, delta: str) -> str:
        words = delta.lstrip()
        blank = delta.removesuffix(words) if words else delta
        _, line_end, indent = blank.rpartition("\n")
        if line_end:
            self._indent.clear()
        self._indent.append(indent)
        if not words:
            return ""
        self._is_after_thinking = False
        text = "".join((*self._indent, words))
        self._indent.clear()
        return text
