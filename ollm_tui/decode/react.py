"""Read the ReAct text of one model turn while it streams; labels count at the start of a line."""

from enum import Enum, auto
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, assert_never

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.react_call import CallDraft, ReActCall, ReActProblem
from ollm_tui.decode.stream_search import PrefixMatcher, Run, Scanner, Words, word_start
from ollm_tui.decode.think_pieces import PieceList, TextPiece, ThinkingPiece, WordPiece
from ollm_tui.lazy import lazy_re


class Label(Enum):
    """The meaning of the text after a label."""

    THOUGHT = "Thought"
    ACTION = "Action"
    INPUT = "Action Input"
    OBSERVATION = "Observation"
    FINAL = "Final Answer"
    ANSWER = "Answer"


_SPELLINGS = MappingProxyType(
    {label.value: label for label in Label}
    | {"Action input": Label.INPUT, "Action_Input": Label.INPUT, "Final answer": Label.FINAL}
)
_WORDS = Words(tuple(_SPELLINGS))
_STARS = Run("*_", 3)
_FORM = PrefixMatcher(
    [(Run("#", 6), Run(r" \t", 2), _STARS, _WORDS, _STARS, Run(r" \t", 4), Words((":", "\uff1a")))]
)
_LABEL = lazy_re(
    r"#{0,6}[ \t]{0,2}(?P<stars>[*_]{0,3})(?P<word>[A-Z][a-z]+(?:[ _][A-Za-z]+)?)"
    r"(?P<close>[*_]{0,3})[ \t]{0,4}[:\uff1a]"
)


@dataclass(frozen=True, slots=True)
class FoundLabel:
    """A label, and where it ends, its stars included."""

    label: Label
    end: int


def find_label(text: str, at: int, *, final: bool) -> FoundLabel | Literal["wait"] | None:
    """Return the label at this position or None, or "wait" while one may still come.

    A label may be a heading, bold or underlined, and its colon a full-width one. Its first word has
    a capital: ``action: ...`` in prose is not a label.
    """
    begins = _FORM.test(text, at, final=final)
    match = _LABEL.match(text, at) if begins else None
    if match is None:
        return "wait" if begins is None else None
    end = match.end()
    stars = "" if match["close"] else match["stars"]
    rest = text[end : end + len(stars)]
    if rest != stars and stars.startswith(rest) and not final:
        return "wait"
    return FoundLabel(_SPELLINGS[match["word"]], end + len(stars) * (rest == stars))


UNDECIDED_LIMIT: Final = 240
_JOINT: Final = "\n\n"


class ReActOutput:
    """Collects thoughts and answer, without the white space around them.

    Text before any label may be a thought or the answer. It is held back, with ``kind`` None, until
    a label decides, a second paragraph begins, or it is longer than ``UNDECIDED_LIMIT``: then it is
    an answer in plain words and streams like any other.
    """

    def __init__(self) -> None:
        self.kind: type[WordPiece] | None = None
        self.kinds_written: set[type[WordPiece]] = set()
        self.emitted: PieceList[WordPiece] = PieceList()
        self._undecided: list[str] = []
        self._length = 0
        self._blanks: list[str] = []
        self._begun = False

    def open(self, kind: type[WordPiece]) -> None:
        """Begin a section; undecided text before it was a thought."""
        self.decide(ThinkingPiece)
        self.kind = kind
        self._begun = False
        self._blanks.clear()

    def decide(self, kind: type[WordPiece]) -> None:
        """Decide what the undecided text is, if there is any."""
        if self.kind is None and self._undecided:
            self.kind = kind
            self._put("".join(self._undecided))
            self._undecided.clear()

    def write(self, text: str) -> None:
        """Add to the open section; white space is held back until a word follows it."""
        words = text.rstrip()
        blanks = text[len(words) :]
        if words:
            self._write_words(words)
        if blanks:
            self._blanks.append(blanks)

    def _write_words(self, words: str) -> None:
        gap = "".join(self._blanks)
        if not self._begun:
            words = words.lstrip()
            gap = _JOINT if self.kind in self.kinds_written else ""
        self._blanks.clear()
        self._begun = True
        if self.kind is not None:
            self._put(gap + words)
            return
        self._undecided.append(gap + words)
        self._length += len(gap) + len(words)
        if self._length > UNDECIDED_LIMIT or gap.count("\n") > 1:
            self.decide(TextPiece)

    def _put(self, text: str) -> None:
        kind = self.kind or TextPiece
        self.kinds_written.add(kind)
        self.emitted.add(kind, text)


ReActPiece: TypeAlias = WordPiece | ReActCall


class _Section(Enum):
    PREAMBLE = auto()  # a thought if a label follows soon, else the answer
    THOUGHT = auto()
    ACTION = auto()
    INPUT = auto()
    ASIDE = auto()  # a second action and its input, or an input without an action
    ANSWER = auto()
    STOPPED = auto()  # after "Observation:": the rest is invented


class ReActParser:
    """Turn chunks of ReAct text into thoughts, the answer, and at the end at most one call.

    The first action that has an input is the call; plain words without a label are the answer.
    """

    def __init__(self) -> None:
        self.problem: ReActProblem | None = None
        """After the end: what the model has to correct, or None if the turn is fine."""
        self._section = _Section.PREAMBLE
        self._scanner = Scanner(self._at_line_start)
        self._output = ReActOutput()
        self._draft = CallDraft()
        self._action_label = ""
        self._answered = False

    @property
    def stopped(self) -> bool:
        """Whether nothing more can come, so that the rest of the stream can be skipped."""
        return self._section is _Section.STOPPED

    def feed(self, chunk: str) -> list[ReActPiece]:
        """Return the pieces that are certain after this chunk."""
        self._scanner.feed(chunk)
        return [*self._output.emitted.take()]

    def finish(self, *, complete: bool = True) -> list[ReActPiece]:
        """Return what was held back, with the call last; no call if the text was cut."""
        self._scanner.feed("", final=True)
        self._leave_action()
        self._output.decide(TextPiece)
        pieces: list[ReActPiece] = [*self._output.emitted.take()]
        outcome = self._outcome() if complete else None
        if isinstance(outcome, ReActCall):
            self.problem = "bad_input" if outcome.args is None else None
            return [*pieces, outcome]
        self.problem = outcome
        return pieces

    def _outcome(self) -> ReActCall | ReActProblem | None:
        if self._answered:
            return None
        if (outcome := self._draft.read()) is not None:
            return outcome
        kinds = self._output.kinds_written
        if TextPiece in kinds:
            return None
        return "no_answer" if ThinkingPiece in kinds else "empty"

    def _at_line_start(self, text: str, at: int, final: bool) -> int:
        if (start := word_start(text, at)) > at:
            self._write(text[at:start])
            return start
        label = find_label(text, at, final=final)
        if label == "wait":
            return at
        self._scanner.step = self._in_line
        if label is None or not self._enter(label.label, text[at : label.end]):
            return at
        return label.end

    def _in_line(self, text: str, at: int, _final: bool) -> int:
        newline = text.find("\n", at)
        end = newline + 1 or len(text)
        if newline >= 0:
            self._scanner.step = self._at_line_start
        self._write(text[at:end])
        return end

    def _skip(self, text: str, _at: int, _final: bool) -> int:
        return len(text)

    def _write(self, text: str) -> None:
        match self._section:
            case _Section.PREAMBLE | _Section.THOUGHT | _Section.ANSWER:
                self._output.write(text)
            case _Section.ACTION | _Section.INPUT:
                self._draft.write(text)
            case _Section.ASIDE | _Section.STOPPED:
                pass

    def _enter(self, label: Label, written: str) -> bool:
        """Enter the section of a label; return False if it is ordinary text here."""
        match label:
            case Label.OBSERVATION:
                self._section, self._scanner.step = _Section.STOPPED, self._skip
            case _ if self._answered:
                return False
            case Label.ANSWER if self._section is not _Section.THOUGHT:
                return False
            case Label.INPUT:
                return self._enter_input()
            case Label.THOUGHT:
                self._open(_Section.THOUGHT, ThinkingPiece)
            case Label.ACTION:
                self._enter_action(written)
            case Label.FINAL | Label.ANSWER:
                self._open(_Section.ANSWER, TextPiece)
                self._answered = True
            case _:
                assert_never(label)
        return True

    def _open(self, section: _Section, kind: type[WordPiece]) -> None:
        self._leave_action()
        self._output.open(kind)
        self._section = section

    def _enter_action(self, written: str) -> None:
        self._leave_action()
        self._output.decide(ThinkingPiece)
        if self._draft.has_input:
            self._section = _Section.ASIDE
            return
        self._draft.open_action()
        self._action_label = written
        self._section = _Section.ACTION

    def _enter_input(self) -> bool:
        if self._is_plain and not self._draft.has_action:
            return False
        self._output.decide(ThinkingPiece)
        self._section = _Section.INPUT if self._draft.open_input() else _Section.ASIDE
        return True

    @property
    def _is_plain(self) -> bool:
        """Whether text before any label has been emitted as the answer."""
        return self._output.kind is TextPiece and not self._answered

    def _leave_action(self) -> None:
        """Write an action without an input as text if it is in plain words."""
        if self._is_plain and self._draft.has_action and not self._draft.has_input:
            self._output.write(self._action_label + self._draft.drop_action())
