"""Divide a model's text into answer and thinking by the tags it writes.

White space is held back until it is known whether it stands beside a tag, and then dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from ollm_tui.decode.stream_search import Scanner, Step, TagSearch, word_start


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """A piece of the thinking."""

    text: str


ThinkPiece: TypeAlias = TextPiece | ThinkingPiece
P = TypeVar("P")


class PieceList(Generic[P]):
    """Pieces of a text in their order, neighbours of one kind joined."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Callable[[str], P], list[str]]] = []

    def add(self, kind: Callable[[str], P], text: str) -> None:
        """Add a piece; a no-op if it is empty."""
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        elif text:
            self._pieces.append((kind, [text]))

    def take(self) -> list[P]:
        """Return the pieces since the last call."""
        pieces, self._pieces = self._pieces, []
        return [kind("".join(parts)) for kind, parts in pieces]


class ThinkOutput:
    """The output of a splitter; ``closed_blocks_only`` holds each block back until its end.

    White space around a leading block is dropped; of the white space on both sides of a block
    between two texts one run stays.
    """

    def __init__(self, *, thinking_joint: str, text_joint: str, closed_blocks_only: bool) -> None:
        self._thinking_joint = thinking_joint
        self._text_joint = text_joint
        self._closed_blocks_only = closed_blocks_only
        self.emitted: PieceList[ThinkPiece] = PieceList()
        self._blanks: list[str] = []
        self._opening = ""
        self._body: list[str] = []
        self._after_block = self._word_in_block = False
        self._text_came = self._text_ends_blank = self._thinking_came = False

    def keep_blanks(self, blanks: str) -> None:
        """Hold white space back until it is known what follows."""
        self._blanks.append(blanks)

    def text(self, text: str) -> None:
        """Add to the answer."""
        if not text:
            return
        self.emitted.add(TextPiece, self._before_text() + text)
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
            self.emitted.add(ThinkingPiece, blanks)
        elif not in_block and not self._after_block:
            self.emitted.add(TextPiece, blanks)

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
            self.emitted.add(ThinkingPiece, "".join(self._blanks) + words)
        elif words:
            joint = self._thinking_joint if self._thinking_came else ""
            self.emitted.add(ThinkingPiece, joint + words.lstrip())
            self._word_in_block = self._thinking_came = True
        if words:
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)


@dataclass(frozen=True, slots=True)
class TagPair:
    """The tags that a model writes around its thinking; letter case counts."""

    start: str
    end: str

    def __post_init__(self) -> None:
        if not self.start.strip() or not self.end.strip():
            raise ValueError("a thinking block needs a start tag and an end tag")
        if self.start[0].isspace():
            raise ValueError("a start tag cannot begin with white space")


USUAL_PAIRS: Final = (
    TagPair("<think>", "</think>"),
    TagPair("[THINK]", "[/THINK]"),
    TagPair("<seed:think>", "</seed:think>"),
    TagPair("<|START_THINKING|>", "<|END_THINKING|>"),
    TagPair("<|channel>thought", "<channel|>"),
    TagPair("<|inner_prefix|>", "<|inner_suffix|>"),
)
"""The tags of a model of which nothing is known: those with which no ordinary answer begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTags:
    """The tags with which a model marks its thinking.

    ``start_open``: the prompt ended inside a block. ``where``: whether only a block before all
    text counts. ``unclosed``: what a block is whose end tag never came; with ``text`` no block can
    be given out before its end. The joints stand between two blocks and between the texts around
    a block. Without any pair, a block is what the prompt opened and an answer tag ends.

    With ``start_open`` a server may have taken the thinking out already, and nothing in its text
    tells. So the text streams as thinking until something ends the block. If the answer ends well
    and nothing has, the text was the answer, and is given out once more as text.

    Raises:
        ValueError: if nothing could end the block that the prompt opened.
    """

    pairs: tuple[TagPair, ...] = USUAL_PAIRS
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


class ThinkTagSplitter:
    """Turn chunks of a model's text into pieces of answer and thinking."""

    def __init__(self, settings: ThinkTags | None = None) -> None:
        self._settings = settings or ThinkTags()
        self._searches = _Searches(self._settings)
        self._starts_count = True
        self._in_answer = False
        self._ends = self._searches.ends
        self._scanner = Scanner(self._in_gap)
        self._opened = self._settings.start_open
        self._assumed: list[str] | None = None
        """The text of a block that only the prompt opened, while nothing has ended it."""
        self._output = ThinkOutput(
            thinking_joint=self._settings.thinking_joint,
            text_joint=self._settings.text_joint,
            closed_blocks_only=self._settings.unclosed == "text",
        )

    def feed(self, chunk: str) -> list[ThinkPiece]:
        """Return the pieces that are certain after this chunk."""
        self._scanner.feed(chunk)
        return self._output.emitted.take()

    def expect_text(self) -> None:
        """Take further text as the answer: the server sends the thinking apart from it."""
        self._opened = False
        if self._assumed is not None:
            self._assumed = None
            self._output.close_block()
            self._enter(self._in_gap)

    def finish(self, *, ended_well: bool = False) -> list[ThinkPiece]:
        """Return what was held back.

        `ended_well`: the model ended its answer, and calls no tool. A block that only the prompt
        opened is the answer then.
        """
        self._scanner.feed("", final=True)
        in_block = self._scanner.step == self._in_block
        self._output.finish(in_block=in_block)
        if ended_well and self._assumed and self._settings.unclosed == "thinking":
            self._output.emitted.add(TextPiece, "".join(self._assumed).strip())
        return self._output.emitted.take()

    def _in_gap(self, text: str, at: int, final: bool) -> int:
        """Before the first word, or after a block: read white space, a tag, or the first word."""
        if (word := word_start(text, at)) > at:
            self._output.keep_blanks(text[at:word])
            return word
        end = self._searches.in_gap[self._starts_count].match(text, at, final=final)
        if end is None:
            return at
        if text[at:end] in self._searches.answer_starts:
            self._drop_answer_start(text[at:end])
        elif end > at or self._opened:
            self._open(text[at:end])
        else:
            self._enter(self._in_text)
        return end

    def _in_text(self, text: str, at: int, final: bool) -> int:
        """Read the answer up to a tag that counts here."""
        search = self._searches.in_text[self._starts_count, self._in_answer]
        start, end = search.search(text, at, final=final)
        self._output.text(text[at:start])
        if end > start and text[start:end] in self._searches.starts:
            self._open(text[start:end])
        elif end > start:
            self._in_answer = False
            self._enter(self._in_gap)
        return end

    def _in_block(self, text: str, at: int, final: bool) -> int:
        """Read thinking up to an end tag, or a tag that starts the answer."""
        start, end = self._ends.search(text, at, final=final)
        self._output.thinking(text[at:start])
        if self._assumed is not None:
            self._assumed.append(text[at:start])
        if end > start:
            self._assumed = None
            self._in_answer = text[start:end] in self._settings.answer_starts
            self._output.close_block()
            self._enter(self._in_gap)
        return end

    def _drop_answer_start(self, tag: str) -> None:
        """Treat the tag as an empty block, so that white space around it is dropped."""
        self._opened = False
        self._in_answer = True
        self._output.open_block(tag)
        self._output.close_block()
        self._enter(self._in_gap)

    def _open(self, tag: str) -> None:
        self._opened = self._in_answer = False
        self._assumed = None if tag else []
        self._ends = self._searches.ends_of.get(tag, self._searches.ends)
        self._output.open_block(tag)
        self._enter(self._in_block)

    def _enter(self, step: Step) -> None:
        self._scanner.step = step
        self._starts_count = self._starts_count and self._settings.where == "anywhere"


class _Searches:
    def __init__(self, settings: ThinkTags) -> None:
        pairs, answers = settings.pairs, settings.answer_starts
        self.starts = frozenset(pair.start for pair in pairs)
        self.answer_starts = frozenset(tag.lstrip() for tag in answers) - self.starts
        self.ends = TagSearch((*(pair.end for pair in pairs), *answers))
        self.ends_of = {
            start: TagSearch((*(pair.end for pair in pairs if pair.start == start), *answers))
            for start in self.starts
        }
        self.in_gap = {
            counts: TagSearch((*(self.starts if counts else ()), *self.answer_starts))
            for counts in (False, True)
        }
        """By whether start tags count."""
        self.in_text = {
            (counts, in_answer): TagSearch((*(self.starts if counts else ()), *ends))
            for in_answer, ends in ((False, ()), (True, settings.answer_ends))
            for counts in (False, True)
        }
        """By whether start tags count, and whether an answer tag is open."""


_TEMPLATE_MARKS: Final = (
    "<think>",
    "</think>",
    "[THINK]",
    "<seed:think>",
    "<thought>",
    "\N{WHITE LEFT-POINTING TRIANGLE}think",
    "<|channel>thought",
    "<|channel|>analysis",
    "<|inner_prefix|>",
    "enable_thinking",
    "reasoning_content",
    "reasoning_effort",
    "if thinking",
)
"""What templates of any family have whose models think: tags, and variables that switch it."""


def mentions_thinking(template: str) -> bool:
    """Whether a chat template has something that only templates of thinking models have."""
    return any(mark in template for mark in _TEMPLATE_MARKS)
