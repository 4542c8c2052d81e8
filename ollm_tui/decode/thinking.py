"""Divide a model's text into answer and thinking by the tags it writes.

States and transitions:

* ``GAP``: before the first word, or after a block. White space is held back. A start tag leads to
  ``BLOCK``; anything else leads to ``TEXT``, or to ``BLOCK`` if the prompt already opened it (the
  start tag that a model then writes anyway is dropped).
* ``TEXT``: answer. Where blocks may stand anywhere, a start tag leads to ``BLOCK``; else final.
* ``BLOCK``: thinking. White space after the start tag is dropped; later white space is held back
  until a word follows it, so that what stands before the end tag is dropped too. The end tag leads
  to ``GAP``, and so does a tag that starts the answer, although no end tag came. Start tags and
  other models' tags are ordinary thinking here.

Tags around the answer itself are dropped: one that starts it in ``GAP``, then the one that ends it.
White space around a leading block is dropped; of the white space on both sides of a block between
two texts one run stays.

The end of the stream gives out what is held back; nothing once given out is taken back.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, TypeAlias, assert_never

from ollm_tui.decode.stream_search import TagSearch


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """A piece of the thinking."""

    text: str


ThinkPiece: TypeAlias = TextPiece | ThinkingPiece


class ThinkOutput:
    """The output of a splitter; ``closed_blocks_only`` holds each block back until its end."""

    def __init__(self, *, thinking_joint: str, text_joint: str, closed_blocks_only: bool) -> None:
        self._thinking_joint = thinking_joint
        self._text_joint = text_joint
        self._closed_blocks_only = closed_blocks_only
        self._pieces: list[tuple[type[ThinkPiece], list[str]]] = []
        self._blanks: list[str] = []
        self._opening = ""
        self._body: list[str] = []
        self._after_block = self._word_in_block = False
        self._text_came = self._text_ends_blank = self._thinking_came = False

    def take(self) -> list[ThinkPiece]:
        """Return the pieces since the last call, neighbours of one kind joined."""
        pieces, self._pieces = self._pieces, []
        return [kind("".join(parts)) for kind, parts in pieces]

    def keep_blanks(self, blanks: str) -> None:
        """Hold white space back until it is known what follows."""
        self._blanks.append(blanks)

    def text(self, text: str) -> None:
        """Add to the answer."""
        if not text:
            return
        self._add(TextPiece, self._before_text() + text)
        self._blanks.clear()
        self._after_block = False
        self._text_came = True
        self._text_ends_blank = text[-1].isspace()

    def open_block(self, tag: str) -> None:
        """Begin a block of thinking that this tag opened."""
        self._opening = "".join(self._blanks) + tag
        self._blanks.clear()
        self._word_in_block = False

    def thinking(self, text: str) -> None:
        """Add to the open block."""
        if self._closed_blocks_only:
            self._body.append(text)
        else:
            self._add_thinking(text)

    def close_block(self) -> None:
        """End the open block; white space before its end tag is dropped."""
        self._add_thinking("".join(self._body))
        self._body.clear()
        self._blanks.clear()
        self._after_block = True

    def finish(self, *, in_block: bool) -> None:
        """Emit what was held back, at the end of the stream."""
        blanks = "".join(self._blanks)
        self._blanks.clear()
        if in_block and self._closed_blocks_only:
            self.text(self._opening + "".join(self._body))
            self._body.clear()
        elif in_block and self._word_in_block:
            self._add(ThinkingPiece, blanks)
        elif not in_block and not self._after_block:
            self._add(TextPiece, blanks)

    def _before_text(self) -> str:
        if not self._after_block:
            return "".join(self._blanks)
        if not self._text_came:
            return ""
        if self._text_joint or self._text_ends_blank:
            return self._text_joint
        return "".join(self._blanks)

    def _add_thinking(self, text: str) -> None:
        words = text.rstrip()
        blanks = text[len(words) :]
        if words and self._word_in_block:
            self._add(ThinkingPiece, "".join(self._blanks) + words)
        elif words:
            joint = self._thinking_joint if self._thinking_came else ""
            self._add(ThinkingPiece, joint + words.lstrip())
            self._word_in_block = self._thinking_came = True
        if words:
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)

    def _add(self, kind: type[ThinkPiece], text: str) -> None:
        if not text:
            return
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        else:
            self._pieces.append((kind, [text]))


_WORD = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class TagPair:
    """The tags that a model writes around its thinking; letter case counts."""

    start: str
    end: str

    def __post_init__(self) -> None:
        if not self.start.strip() or not self.end.strip():
            raise ValueError("a reasoning block needs a start tag and an end tag")
        if self.start[0].isspace():
            raise ValueError("a start tag cannot begin with white space")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTags:
    """The tags with which a model marks its thinking.

    ``start_open``: the prompt ended inside a block. ``where``: whether only a block before all
    text counts. ``unclosed``: what a block is whose end tag never came; with ``text`` no block can
    be given out before its end. The joints stand between two blocks and between the texts around
    a block. Without any pair, a block is what the prompt opened and an answer tag ends.

    Raises:
        ValueError: if nothing could end the block that the prompt opened.
    """

    pairs: tuple[TagPair, ...] = (TagPair("<think>", "</think>"),)
    answer_starts: tuple[str, ...] = ()
    answer_ends: tuple[str, ...] = ()
    start_open: bool = False
    where: Literal["leading", "anywhere"] = "leading"
    unclosed: Literal["thinking", "text"] = "thinking"
    thinking_joint: str = "\n\n"
    text_joint: str = ""

    def __post_init__(self) -> None:
        if not all(tag.strip() for tag in (*self.answer_starts, *self.answer_ends)):
            raise ValueError("an answer tag needs a visible character")
        if self.start_open and not self.pairs and not self.answer_starts:
            raise ValueError("a block that the prompt opened needs a tag that ends it")


class _State(Enum):
    GAP = auto()
    TEXT = auto()
    BLOCK = auto()


class ThinkTagSplitter:
    """Turn chunks of a model's text into pieces of answer and thinking."""

    def __init__(self, settings: ThinkTags | None = None) -> None:
        self._settings = settings or ThinkTags()
        self._searches = _Searches(self._settings)
        self._starts_count = True
        self._in_answer = False
        self._ends = self._searches.ends
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
        match = _WORD.search(text, at)
        word = match.start() if match else len(text)
        if word > at:
            self._output.keep_blanks(text[at:word])
            return word
        end = self._searches.in_gap(self._starts_count).match(text, at, final=final)
        if end is None:
            return at
        if text[at:end] in self._searches.answer_starts:
            self._drop_answer_start(text[at:end])
        elif end > at or self._opened:
            self._open(text[at:end])
        else:
            self._enter(_State.TEXT)
        return end

    def _step_in_text(self, text: str, at: int, *, final: bool) -> int:
        search = self._searches.in_text(self._starts_count, in_answer=self._in_answer)
        start, end = search.search(text, at, final=final)
        self._output.text(text[at:start])
        if end > start and text[start:end] in self._searches.starts:
            self._open(text[start:end])
        elif end > start:
            self._in_answer = False
            self._enter(_State.GAP)
        return end

    def _step_in_block(self, text: str, at: int, *, final: bool) -> int:
        start, end = self._ends.search(text, at, final=final)
        self._output.thinking(text[at:start])
        if end > start:
            self._in_answer = text[start:end] in self._settings.answer_starts
            self._output.close_block()
            self._enter(_State.GAP)
        return end

    def _drop_answer_start(self, tag: str) -> None:
        """Treat the tag as an empty block, so that white space around it is dropped."""
        self._opened = False
        self._in_answer = True
        self._output.open_block(tag)
        self._output.close_block()
        self._enter(_State.GAP)

    def _open(self, tag: str) -> None:
        self._opened = self._in_answer = False
        self._ends = self._searches.ends_of.get(tag, self._searches.ends)
        self._output.open_block(tag)
        self._enter(_State.BLOCK)

    def _enter(self, state: _State) -> None:
        self._state = state
        self._starts_count = self._starts_count and self._settings.where == "anywhere"


class _Searches:
    """The tags to search for in each state, compiled once."""

    def __init__(self, settings: ThinkTags) -> None:
        pairs, answers = settings.pairs, settings.answer_starts
        self.starts = frozenset(pair.start for pair in pairs)
        self.answer_starts = frozenset(tag.lstrip() for tag in answers) - self.starts
        self.ends = TagSearch((*(pair.end for pair in pairs), *answers))
        self.ends_of = {
            start: TagSearch((*(pair.end for pair in pairs if pair.start == start), *answers))
            for start in self.starts
        }
        self._in_gap = tuple(
            TagSearch((*(self.starts if counts else ()), *self.answer_starts))
            for counts in (False, True)
        )
        self._in_text = tuple(
            TagSearch((*(self.starts if counts else ()), *ends))
            for ends in ((), settings.answer_ends)
            for counts in (False, True)
        )

    def in_gap(self, starts_count: bool) -> TagSearch:
        return self._in_gap[starts_count]

    def in_text(self, starts_count: bool, *, in_answer: bool) -> TagSearch:
        return self._in_text[2 * in_answer + starts_count]
