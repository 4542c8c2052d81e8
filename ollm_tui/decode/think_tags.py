"""Divide a model's text into answer and reasoning by the tags it writes.

States and transitions:

* ``GAP``: before the first word, or after a block. White space is kept aside. A start tag leads to
  ``BLOCK``; anything else leads to ``TEXT``, or to ``BLOCK`` when the prompt already opened it
  (the start tag a model then writes anyway is dropped).
* ``TEXT``: answer. Where blocks may stand anywhere, a start tag leads to ``BLOCK``; else final.
* ``BLOCK``: reasoning. White space after the start tag is dropped; later white space is kept aside
  until a word follows it, so that what stands before the end tag is dropped too. The end tag leads
  to ``GAP``. Start tags and other models' tags are ordinary reasoning here.

The end of the stream gives out what is kept aside; nothing once given out is taken back.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, assert_never

from ollm_tui.decode.tag_search import TagSearch
from ollm_tui.decode.think_output import ThinkOutput, ThinkPiece

_WORD = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class TagPair:
    """What a model writes before and after its reasoning; letter case counts."""

    start: str
    end: str

    def __post_init__(self) -> None:
        if not self.start.strip() or not self.end.strip():
            raise ValueError("a reasoning block needs a start tag and an end tag")
        if self.start[0].isspace():
            raise ValueError("a start tag cannot begin with white space")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTags:
    """How one model marks its reasoning.

    ``start_open``: the prompt ended inside a block. ``where``: whether only a block before all
    text counts. ``unclosed``: what a block is whose end tag never came; with ``text`` no block can
    be given out before its end. The joints stand between two blocks and between the texts around
    a block.
    """

    pairs: tuple[TagPair, ...] = (TagPair("<think>", "</think>"),)
    start_open: bool = False
    where: Literal["leading", "anywhere"] = "leading"
    unclosed: Literal["thinking", "text"] = "thinking"
    thinking_joint: str = "\n\n"
    text_joint: str = ""


class _State(Enum):
    GAP = auto()
    TEXT = auto()
    BLOCK = auto()


class ThinkTagSplitter:
    """Turn chunks of a model's text into pieces of answer and reasoning."""

    def __init__(self, settings: ThinkTags | None = None) -> None:
        self._settings = settings or ThinkTags()
        pairs = self._settings.pairs
        self._starts = TagSearch(pair.start for pair in pairs)
        self._ends = TagSearch(pair.end for pair in pairs)
        self._ends_of = {
            start: TagSearch(pair.end for pair in pairs if pair.start == start)
            for start in {pair.start for pair in pairs}
        }
        self._state = _State.GAP
        self._opened = self._settings.start_open
        self._held = ""
        self._output = ThinkOutput(
            thinking_joint=self._settings.thinking_joint,
            text_joint=self._settings.text_joint,
            closed_blocks_only=self._settings.unclosed == "text",
        )

    def feed(self, chunk: str) -> list[ThinkPiece]:
        """Return the pieces that are certain after this chunk."""
        self._run(chunk, final=False)
        return self._output.take()

    def finish(self) -> list[ThinkPiece]:
        """Return what was held back."""
        self._run("", final=True)
        self._output.finish(in_block=self._state is _State.BLOCK)
        return self._output.take()

    def _run(self, chunk: str, *, final: bool) -> None:
        text, at = self._held + chunk, 0
        while at < len(text):
            before = at, self._state
            at = self._step(text, at, final=final)
            if before == (at, self._state):
                break
        self._held = text[at:]

    def _step(self, text: str, at: int, *, final: bool) -> int:
        match self._state:
            case _State.GAP:
                return self._step_in_gap(text, at, final=final)
            case _State.TEXT:
                return self._step_in_text(text, at, final=final)
            case _State.BLOCK:
                return self._step_in_block(text, at, final=final)
            case unreachable:
                assert_never(unreachable)

    def _step_in_gap(self, text: str, at: int, *, final: bool) -> int:
        found = _WORD.search(text, at)
        word = found.start() if found else len(text)
        if word > at:
            self._output.keep_blanks(text[at:word])
            return word
        end = self._starts.match(text, at, final=final)
        if end is None:
            return at
        if end > at or self._opened:
            self._open(text[at:end])
        else:
            self._enter(_State.TEXT)
        return end

    def _step_in_text(self, text: str, at: int, *, final: bool) -> int:
        start, end = self._starts.search(text, at, final=final)
        self._output.text(text[at:start])
        if end > start:
            self._open(text[start:end])
        return end

    def _step_in_block(self, text: str, at: int, *, final: bool) -> int:
        start, end = self._ends.search(text, at, final=final)
        self._output.thinking(text[at:start])
        if end > start:
            self._output.close_block()
            self._enter(_State.GAP)
        return end

    def _open(self, tag: str) -> None:
        self._opened = False
        self._ends = self._ends_of.get(tag, self._ends)
        self._output.open_block(tag)
        self._enter(_State.BLOCK)

    def _enter(self, state: _State) -> None:
        self._state = state
        if self._settings.where == "leading":
            self._starts = TagSearch(())
