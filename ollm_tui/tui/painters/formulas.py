"""Formulas in Markdown: where they are, the rules that keep Markdown's own marks out, their rows.

`$…$` is a formula only if it cannot well be anything else: a price, a variable of a shell.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from importlib import import_module
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.painters.plain import plain_rows
from ollm_tui.tui.painters.rows import Canvas, Row, Step, source_style
from ollm_tui.tui.painters.wrapping import wrapped_rows

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

MAX_LENGTH: Final = 4_000
"""Characters between the delimiters of a formula; beyond, it is text."""
_CONVERTER: Final = "ollm_tui.tui.painters.latex"
_WAIT_S: Final = 0.005
"""How long one step of painting waits for the converter to be loaded."""
_INDENT: Final = "  "
_TOKEN: Final = re.compile(r"\\[\\$()\[\]]|\$\$|\$")
_CLOSERS: Final = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_DISPLAYED: Final = frozenset({"$$", r"\["})
_SIGNS: Final = re.compile(r"[\\^_{}=<>]")
"""Signs that no price or variable has."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in a text."""

    end: int
    """Where its last delimiter ends."""
    source: str
    """What is between the delimiters."""


def formulas(text: str) -> dict[int, Formula]:
    """Return the formulas of a text by where they start; code is not looked for."""
    starts: dict[int, Formula] = {}
    tokens = [(token[0], *token.span()) for token in _TOKEN.finditer(text)]
    at = 0
    closers = _next_closers(tokens)
    while at < len(tokens):
        mark, start, inside = tokens[at]
        closer = closers[at]
        at += 1
        if closer is None:
            continue
        end, after = tokens[closer][1:]
        source = text[inside:end]
        if end - inside <= MAX_LENGTH and _is_formula(text, mark, start, source, after):
            starts[start] = Formula(after, source)
            at = closer + 1
    return starts


def _next_closers(tokens: list[tuple[str, int, int]]) -> list[int | None]:
    """The token that closes each token, if there is one; one pass from the end."""
    closers: list[int | None] = [None] * len(tokens)
    last: dict[str, int] = {}
    for number in range(len(tokens) - 1, -1, -1):
        mark = tokens[number][0]
        wanted = _CLOSERS.get(mark)
        closers[number] = last.get(wanted) if wanted is not None else None
        last[mark] = number
        if mark == "$$":
            # A single one does not reach across a double one.
            last.pop("$", None)
    return closers


def _is_formula(text: str, mark: str, start: int, source: str, after: int) -> bool:
    if not source.strip() or "`" in source:
        return False
    if mark == "$" and not _may_be_inline(text, start, source, after):
        return False
    # Words and no sign of a formula: "$5 in all and 6$", or brackets that were escaped.
    return bool(_SIGNS.search(source)) or not (" " in source and _WORD.search(source))


def _may_be_inline(text: str, start: int, source: str, after: int) -> bool:
    before, behind = text[start - 1 : start], text[after : after + 1]
    return not (
        source[0].isspace()
        or source[-1].isspace()
        or before.isalnum()
        or behind.isalnum()
        or behind == "{"
        or _VARIABLE.fullmatch(source)
    )


# The rules of the Markdown parser


def add_rules(markdown: "MarkdownIt") -> None:
    """Teach a Markdown parser formulas: tokens `maths` in a text, and `maths_block`."""
    markdown.inline.ruler.before("escape", "maths", _inline_rule)
    markdown.block.ruler.before(
        "fence", "maths_block", _block_rule, {"alt": ["paragraph", "blockquote", "list"]}
    )


def _inline_rule(state: "StateInline", silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    formula = _known_formulas(state.env, state.src).get(state.pos)
    if formula is None or formula.end > state.posMax:
        return False
    if not silent:
        token = state.push("maths", "", 0)
        token.content = formula.source
        token.markup = state.src[state.pos : formula.end]
    state.pos = formula.end
    return True


def _known_formulas(env: MutableMapping[str, Any], text: str) -> dict[int, Formula]:
    """The formulas of a text, found once for all calls of the rule."""
    known: tuple[str, dict[int, Formula]] | None = env.get("maths")
    if known is None or known[0] is not text:
        known = env["maths"] = (text, formulas(text))
    return known[1]


def _block_rule(state: "StateBlock", first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    lines = [_line(state, first)]
    mark = lines[0][:2]
    unclosed: dict[str, int] = state.env.setdefault("unclosed_maths", {})
    if not opens_block(lines[0]) or first < unclosed.get(mark, -1):
        return False
    while not closes_block(lines):
        number = first + len(lines)
        if number >= last or state.isEmpty(number) or state.sCount[number] < state.blkIndent:
            # None that begins before this line is closed either.
            unclosed[mark] = number
            return False
        lines.append(_line(state, number))
    if silent:
        return True
    state.line = first + len(lines)
    token = state.push("maths_block", "", 0)
    token.content, token.map = "\n".join(lines), [first, state.line]
    return True


def _line(state: "StateBlock", number: int) -> str:
    text: str = state.getLines(number, number + 1, state.blkIndent, False)
    return text.strip()


# Formulas of their own lines


def opens_block(line: str) -> bool:
    """Whether a line begins a formula that may go on below."""
    text = line.strip()
    mark = text[:2]
    if mark not in _DISPLAYED:
        return False
    closer = text.find(_CLOSERS[mark], 2)
    return closer < 0 or _ends_with_closer(text, closer)


def is_whole(line: str) -> bool:
    """Whether a line that opens a formula also closes it."""
    text = line.strip()
    return len(text) > 2 and text.find(_CLOSERS[text[:2]], 2) > 0


def closes_block(lines: list[str]) -> bool:
    """Whether the last of the lines of a formula closes it."""
    mark = lines[0].strip()[:2]
    last = lines[-1].strip()
    return _CLOSERS[mark] in (last[2:] if len(lines) == 1 else last)


def _ends_with_closer(text: str, closer: int) -> bool:
    return not text[closer + 2 :].strip(" .,;:!?")


def formula_rows(source: str, canvas: Canvas) -> Iterator[Step]:
    """The rows of a formula with its delimiters; as it is written if it cannot be converted."""
    text = source.strip()
    mark = text[:2]
    closer = text.find(_CLOSERS.get(mark, mark), 2)
    behind = text[closer + 2 :].strip()
    while not is_loaded():
        yield None
    lines = _converted(text[2:closer].strip()) if closer > 0 and len(behind) <= MAX_LENGTH else None
    if lines is None:
        yield from plain_rows(source, canvas.width, canvas.palette.text)
    else:
        last = f"{lines[-1]}{' ' if behind[:1].isalnum() else ''}{behind}"
        yield from _rows([clean_line(line) for line in (*lines[:-1], last)], text, canvas)


def _rows(lines: Sequence[str], source: str, canvas: Canvas) -> Iterator[Row]:
    style = source_style(canvas.palette.text + canvas.palette.code, source, "\n".join(lines))
    inside = max(canvas.width - len(_INDENT), 1)
    left = Segment(_INDENT, canvas.palette.text)
    for line in lines:
        for row in wrapped_rows([(line, style)], inside):
            yield Row((left, *row.segments), gutter=len(_INDENT), join=row.join)


def in_line(source: str) -> str | None:
    """The text of a formula inside a line; None if it is to be shown as it is written."""
    lines = _converted(source.strip())
    return None if lines is None else clean_line("; ".join(lines))


# The converter, which is loaded with the first formula


def _converted(source: str) -> tuple[str, ...] | None:
    # Costs 50 ms, which no first frame and no answer without a formula pays.
    from ollm_tui.tui.painters.latex import convert

    return convert(source)


@cache
def _loading() -> Thread:
    def load() -> None:
        # The first formula brings the table of all commands.
        import_module(_CONVERTER).convert("x^2")

    thread = Thread(target=load, name="load-latex", daemon=True)
    thread.start()
    return thread


def is_loaded() -> bool:
    """Whether the converter is loaded; loads it, and waits a little while it is not."""
    loading = _loading()
    loading.join(_WAIT_S)
    return not loading.is_alive()


def may_hold_formulas(text: str) -> bool:
    """Whether there is any delimiter of a formula."""
    return "$" in text or "\\(" in text or "\\[" in text


def load_steps(text: str, canvas: Canvas) -> Iterator[None]:
    """Convert the formulas of a text step by step: each is kept once it was converted."""
    if not (canvas.maths and may_hold_formulas(text)):
        return
    for formula in formulas(text).values():
        while not is_loaded():
            yield
        in_line(formula.source)
        yield


def is_ready(text: str, canvas: Canvas, deadline: float) -> bool:
    """Convert formulas of a text until a deadline; True when all are converted."""
    if not (canvas.maths and may_hold_formulas(text)):
        return True
    sources = [formula.source for formula in formulas(text).values()]
    if sources and not is_loaded():
        return False
    return not any(_is_new(source) and monotonic() > deadline for source in sources)


def _is_new(source: str) -> bool:
    """Convert a formula and return whether that was still to do."""
    # Loaded by now.
    from ollm_tui.tui.painters.latex import convert

    before = convert.cache_info().misses
    in_line(source)
    return convert.cache_info().misses > before
