"""Divide a model's text into answer and thinking by the tags it writes."""

import re
from typing import Final, Literal

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.stream_search import Scanner, Step, TagSearch, word_start
from ollm_tui.decode.think_pieces import ThinkOutput, ThinkPiece
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.request import ThinkingChannels


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
    and nothing has, the text was the answer: it is taken back, and given out as text.

    A prompt may also have opened a block of which nothing is known. An end tag in the first text,
    outside code and without a start tag before it, tells: the text before it is taken back, and
    given out as thinking.

    Raises:
        ValueError: if nothing could end the block that the prompt opened.
    """

    pairs: tuple[TagPair, ...] = USUAL_PAIRS
    answer_starts: tuple[str, ...] = ()
    answer_ends: tuple[str, ...] = ()
    start_open: bool = False
    where: Literal["leading", "anywhere"] = "leading"
    unclosed: Literal["thinking", "text"] = "thinking"
    thinking_separator: str = "\n\n"
    text_separator: str = ""
    channels: ThinkingChannels | None = None
    """The marks of a model that writes in channels; no tags are searched for then."""

    def __post_init__(self) -> None:
        if not all(tag.strip() for tag in (*self.answer_starts, *self.answer_ends)):
            raise ValueError("an answer tag needs a visible character")
        if self.start_open and not self.pairs and not self.answer_starts:
            raise ValueError("a block that the prompt opened needs a tag that ends it")


MAX_FIRST_TEXT_LENGTH: Final = 262_144
"""Characters that an end tag without a start tag may still turn into thinking."""
_BEFORE_MENTION: Final = (" ", "`", "'", '"', "(", "\N{LEFT DOUBLE QUOTATION MARK}")
"""What stands before a tag that a text only mentions; thinking ends at a line, or a sentence."""
_FENCES: Final = lazy_re(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


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
        self._first_text = _FirstText(
            is_kept=self._settings.where == "leading"
            and self._settings.unclosed == "thinking"
            and not self._opened
        )
        self._output = ThinkOutput(
            thinking_separator=self._settings.thinking_separator,
            text_separator=self._settings.text_separator,
            closed_blocks_only=self._settings.unclosed == "text",
        )

    def feed(self, chunk: str) -> list[ThinkPiece]:
        """Return the pieces that are certain after this chunk."""
        self._scanner.feed(chunk)
        return self._output.emitted.take()

    def expect_text(self) -> None:
        """Take further text as the answer: the server sends the thinking apart from it."""
        self._opened = False
        self._first_text.drop()
        if self._scanner.step == self._in_first_text:
            self._enter(self._in_text)  # in which nothing is held back for an end tag
        elif self._scanner.step == self._in_gap:
            self._scanner.feed("", final=True)  # no tag goes on behind other thinking
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
            text = "".join(self._assumed).strip()
            if text:
                self._output.withdraw_thinking(text)
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
            self._enter(self._in_first_text)
        return end

    def _in_first_text(self, text: str, at: int, final: bool) -> int:
        """Read the beginning of the answer, which an end tag may turn into thinking."""
        if not self._first_text.is_kept:
            self._enter(self._in_text)
            return at
        start, end = self._searches.in_first_text.search(text, at, final=final)
        self._output.text(text[at:start])
        self._first_text.add(text[at:start])
        if end > start:
            thinking = self._first_text.as_thinking()
            if thinking is not None and text[start:end] in self._searches.late_ends:
                self._output.withdraw_text(thinking, text[start:end])
                self._enter(self._in_gap)
                return end
            self._enter(self._in_text)
        return start

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
        self._first_text.drop()
        self._in_answer = True
        self._output.open_block(tag)
        self._output.close_block()
        self._enter(self._in_gap)

    def _open(self, tag: str) -> None:
        self._opened = self._in_answer = False
        self._first_text.drop()
        self._assumed = None if tag else []
        self._ends = self._searches.ends_of.get(tag, self._searches.ends)
        self._output.open_block(tag)
        self._enter(self._in_block)

    def _enter(self, step: Step) -> None:
        self._scanner.step = step
        self._starts_count = self._starts_count and self._settings.where == "anywhere"


class _FirstText:
    """The text that an answer begins with, while an end tag may still turn it into thinking."""

    def __init__(self, *, is_kept: bool) -> None:
        self.is_kept = is_kept
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Add a piece; what is too long is the answer."""
        self._pieces.append(text)
        self._size += len(text)
        if self._size > MAX_FIRST_TEXT_LENGTH:
            self.drop()

    def drop(self) -> None:
        """Take the text as the answer."""
        self.is_kept = False
        self._pieces.clear()

    def as_thinking(self) -> str | None:
        """Return the text if an end tag after it ends thinking; None if it only mentions one."""
        if not self.is_kept:
            return None
        text = "".join(self._pieces)
        self.drop()
        is_mentioned = text.endswith(_BEFORE_MENTION) or len(_FENCES.findall(text)) % 2
        return None if is_mentioned else text


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
        self.late_ends = frozenset(pair.end for pair in pairs if pair.end[0] in "<[")
        """The end tags that no ordinary text has."""
        self.in_first_text = TagSearch((*self.starts, *self.late_ends))
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


_OPENED: Final = lazy_re(
    r"(?:<think>|<seed:think>|\[THINK\]|<\|START_THINKING\|>)(?:\\n|\s)*"
    r"(?:[\"'`]\s*-?\}\}|\{%-?\s*(?:end|else|elif)|\{\{-?\s*(?:end|else)|\Z)"
)
"""A start tag that ends a text of a template."""
_PROMPT_END: Final = "add_generation_prompt"
_LAST_PART: Final = 400
"""Characters of a template without that variable, as Ollama has them, that may be its end."""


def opens_thinking(template: str) -> bool:
    """Whether a chat template ends its prompt inside a block of thinking, at least in one case."""
    _, variable, end = template.rpartition(_PROMPT_END)
    return _OPENED.search(end if variable else template[-_LAST_PART:]) is not None


def mentions_thinking(template: str) -> bool:
    """Whether a chat template has something that only templates of thinking models have."""
    return any(mark in template for mark in _TEMPLATE_MARKS)
