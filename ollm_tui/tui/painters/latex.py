r"""From a formula in LaTeX to lines of Unicode: `\frac{a}{2}` becomes `a/2`, `x^2` becomes `x²`.

pylatexenc parses the formula and knows the symbols; here is how they are put on a line. What it
does not know is shown as it was written, so that nothing of a formula is lost.
"""

import logging
import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from pylatexenc.latex2text import (
    EnvironmentTextSpec,
    LatexNodes2Text,
    MacroTextSpec,
    SpecialsTextSpec,
)
from pylatexenc.latex2text import get_default_latex_context_db as text_specs
from pylatexenc.latexwalker import LatexGroupNode, LatexMacroNode, LatexWalker
from pylatexenc.latexwalker import get_default_latex_context_db as parser_specs
from pylatexenc.macrospec import (
    EnvironmentSpec,
    MacroSpec,
    MacroStandardArgsParser,
    SpecialsSpec,
)

if TYPE_CHECKING:
    from pylatexenc.macrospec import LatexContextDb

# It reports broken formulas to the log, which would then hold what the model has written.
logging.getLogger("pylatexenc").addHandler(logging.NullHandler())
logging.getLogger("pylatexenc").propagate = False

MAX_LENGTH: Final = 800
"""Characters of a formula that is converted; this many take about 10 ms."""
_MAX_DEPTH: Final = 25
_KEPT: Final = 1024
_BRACES: Final = re.compile(r"(?<!\\)[{}]")
_NO_BASE: Final = re.compile(r"[\^_]\s*[\^_]")
_NEXT_LINE: Final = "\n"
_NEXT_CELL: Final = "\t"
_OWN: Final = "ollm"
_KNOWN: Final = ("latex-base",)
"""What of the library's knowledge is parsed with: not the ligatures and environments of texts."""
_SYMBOLS: Final[Mapping[str, str]] = {
    "implies": "⟹", "impliedby": "⟸", "iff": "⟺", "to": "→", "gets": "←", "colon": ": ",
    "land": "∧", "lor": "\u2228", "lnot": "¬", "neg": "¬", "ne": "≠", "neq": "≠", "le": "≤",
    "ge": "≥", "leqslant": "⩽", "geqslant": "⩾", "coloneqq": "≔", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖", "|": "‖",
    "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "dots": "…", "dotsc": "…",
    "dotsb": "⋯", "cdots": "⋯", "ldots": "…", "vdots": "⋮", "ddots": "⋱", "lceil": "⌈",
    "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "langle": "⟨", "rangle": "⟩", "hbar": "ℏ",
    "emptyset": "∅", "varnothing": "∅", "complement": "∁", "therefore": "∴", "because": "∵",
    "square": "□", "Box": "□", "blacksquare": "■", "qed": "∎", "checkmark": "✓", "star": "⋆",
    "degree": "°", "prime": "\u2032", "backslash": "\\", "quad": "  ", "qquad": "    ",
    ",": " ", ":": " ", ";": " ", " ": " ", "!": "", "\\": _NEXT_LINE, "hline": "",
    "cr": _NEXT_LINE, "limits": "", "nolimits": "", "displaystyle": "", "textstyle": "",
    "scriptstyle": "", "nonumber": "", "notag": "", "left": "", "right": "", "middle": "",
    **dict.fromkeys(("big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"), ""),
    **dict.fromkeys(("biggl", "biggr", "Biggl", "Biggr", "bigm", "Bigm"), ""),
    "bmod": "mod ", "mod": "mod ", "deg": "deg", "argmax": "argmax", "argmin": "argmin",
}  # fmt: skip
"""Macros without arguments that the library lacks or shows as a document would."""
_PLAIN: Final = frozenset({"text", "textrm", "textnormal", "mathrm", "mathop", "operatorname"}) | {
    *("mbox", "hbox", "textsf", "mathsf", "texttt", "mathtt", "textup", "operatorname*"),
    *("mathbin", "mathrel", "mathord", "ensuremath"),
    *("boldsymbol", "bm", "pmb", "textbf", "textit", "mathit", "substack", "cancel", "smash"),
}
"""Macros whose argument is shown as it is."""
_OVER: Final[Mapping[str, str]] = {
    "overline": "\u0305", "bar": "\u0304", "hat": "\u0302", "widehat": "\u0302",
    "tilde": "\u0303", "widetilde": "\u0303", "vec": "\u20d7", "dot": "\u0307",
    "ddot": "\u0308", "underline": "\u0332", "overrightarrow": "\u20d7", "mathring": "\u030a",
}  # fmt: skip
"""Macros that put a sign over or below each letter."""
_ENCLOSED: Final[Mapping[str, tuple[str, str]]] = {
    "matrix": ("[", "]"), "pmatrix": ("(", ")"), "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"), "vmatrix": ("|", "|"), "Vmatrix": ("‖", "‖"),
    "smallmatrix": ("[", "]"), "array": ("[", "]"), "cases": ("{ ", " }"), "rcases": ("{ ", " }"),
}  # fmt: skip
"""Environments that stay on one line, with what is put around them."""
_LINES: Final = frozenset({"aligned", "align", "align*", "alignat", "alignat*", "alignedat"}) | {
    *("gather", "gather*", "gathered", "split", "multline", "multline*"),
    *("eqnarray", "eqnarray*", "equation", "equation*", "displaymath", "math"),
}
"""Environments whose lines are lines."""
_SIMPLE: Final = re.compile(
    r"(?:\d[\d.,]*|[^\W\d]+[\d⁰-₟ᵃ-ᶿ¹²³]*[\u2032']*(?:\([^()]*\))?"
    r"|[(\[{|‖][^()\[\]{}|‖]*[)\]}|‖]|[√∞∂∇]\w?)"
)
"""What needs no brackets as one part of a fraction."""
_SPACES: Final = re.compile(r"[ \u00a0\u2000-\u200a]+")
_INSIDE: Final = re.compile(r"(?<=[(\[⟨⌈⌊]) | (?=[)\]⟩⌉⌋,;.])")
"""Spaces that only end the name of a macro."""
_AROUND_LINES: Final = re.compile(r" *\n *")
_ROOTS: Final = {"": "√", "2": "√", "3": "∛", "4": "∜"}


@cache
def _raised() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The letters that Unicode has above the line, and those below it."""
    above: dict[str, str] = {}
    below: dict[str, str] = {}
    for first, last in ((0x2070, 0x209D), (0xB2, 0xBA), (0x1D2C, 0x1D6B), (0x2B0, 0x2B9)):
        for code in range(first, last):
            kind, _, plain = unicodedata.decomposition(chr(code)).partition(" ")
            table = {"<super>": above, "<sub>": below}.get(kind)
            if table is not None and " " not in plain:
                table.setdefault(chr(int(plain, 16)), chr(code))
    for table in (above, below):
        table.update({"-": table["\u2212"], " ": " "})
    above.update(
        {"\u2032": "\u2032", "'": "\u2032", "*": "*", "†": "†", "∘": "°", "°": "°", "\u22a4": "ᵀ"}
    )
    return above, below


def _script(text: str, *, is_above: bool) -> str:
    """Text above or below the line; in brackets behind a sign where Unicode lacks a letter."""
    letters = _raised()[0 if is_above else 1]
    text = text.strip()
    tight = text.replace(" ", "")
    if text and all(letter in letters for letter in tight):
        return "".join(letters[letter] for letter in tight)
    if len(text) == 1:
        return f"^{text} " if is_above else f"_{text}"
    return f"^({text})" if is_above else f"_({text})"


def _bracketed(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _joined(text: str, between: str) -> str:
    """The lines and cells of a matrix on one line."""
    rows = [row.strip() for row in text.split(_NEXT_LINE) if row.strip()]
    return "; ".join(
        between.join(cell.strip().removesuffix(",") for cell in row.split(_NEXT_CELL))
        for row in rows
    )


class _Converter(LatexNodes2Text):  # type: ignore[misc]  # the library has no types
    """The library's converter with what is special about a formula."""

    def nodelist_to_text(self, nodelist: Any) -> str:
        """Return the text of nodes; what follows an unknown macro may be its argument."""
        texts: list[str] = []
        is_after_unknown = False
        for node in nodelist:
            is_group = node.isNodeType(LatexGroupNode)
            texts.append(
                _source(node) if is_group and is_after_unknown else self.node_to_text(node)
            )
            is_macro = node.isNodeType(LatexMacroNode)
            is_after_unknown = is_macro and texts[-1].startswith("\\")
        return "".join(texts)

    def macro_node_to_text(self, node: Any) -> str:
        """Return the text of a macro, with the space that was written after it."""
        text: str = super().macro_node_to_text(node)
        has_space = bool(node.macro_post_space) and text[-1:] not in {"", " ", _NEXT_LINE}
        return f"{text} " if has_space else text

    def chars_node_to_text(self, node: Any, textcol: int = 0) -> str:
        """Return characters as they are; a line of the source is no line of the formula."""
        del textcol
        text: str = node.chars
        return text.replace("\n", " ").replace("\t", " ").replace("~", " ")

    def comment_node_to_text(self, node: Any) -> str:
        """Keep what LaTeX would take for a comment: models write a percent sign so."""
        return f"%{node.comment} "


def _argument(converter: Any, node: Any, number: int) -> str:
    text: str = converter.node_arg_to_text(node, number)
    return text


def _fraction(node: Any, l2tobj: Any) -> str:
    above, below = (_bracketed(_argument(l2tobj, node, number)) for number in (0, 1))
    return f"{above}/{below}"


def _binomial(node: Any, l2tobj: Any) -> str:
    return f"C({_argument(l2tobj, node, 0).strip()}, {_argument(l2tobj, node, 1).strip()})"


def _root(node: Any, l2tobj: Any) -> str:
    degree, of = _argument(l2tobj, node, 0).strip(), _argument(l2tobj, node, 1).strip()
    sign = _ROOTS.get(degree) or f"{_script(degree, is_above=True)}√"
    return sign + (of if len(of) == 1 else f"({of})")


def _over(node: Any, l2tobj: Any, macroname: str) -> str:
    text = unicodedata.normalize("NFC", _argument(l2tobj, node, 0).strip())
    return "".join(letter + _OVER[macroname] for letter in text)


def _script_of(node: Any, l2tobj: Any, specials_chars: str) -> str:
    return _script(_argument(l2tobj, node, 0), is_above=specials_chars == "^")


def _source(node: Any) -> str:
    text: str = node.latex_verbatim()
    return text


def _last_argument(node: Any, l2tobj: Any) -> str:
    return _argument(l2tobj, node, -1)


def _braced(node: Any, l2tobj: Any) -> str:
    return _bracketed(_argument(l2tobj, node, 0))


def _boxed(node: Any, l2tobj: Any) -> str:
    return f"[{_argument(l2tobj, node, 0).strip()}]"


def _modulo(node: Any, l2tobj: Any) -> str:
    return f" (mod {_argument(l2tobj, node, 0).strip()})"


def _tag(node: Any, l2tobj: Any) -> str:
    return f"  ({_argument(l2tobj, node, 0).strip()})"


def _stacked(node: Any, l2tobj: Any) -> str:
    above, base = _argument(l2tobj, node, 0), _argument(l2tobj, node, 1)
    return base.strip() + _script(above, is_above=True)


def _arrow(node: Any, l2tobj: Any, macroname: str) -> str:
    sign = "←" if macroname == "xleftarrow" else "→"
    over = _argument(l2tobj, node, -1).strip()
    return f" {sign}{_script(over, is_above=True)} " if over else f" {sign} "


def _negated(node: Any, l2tobj: Any) -> str:
    return unicodedata.normalize("NFC", _argument(l2tobj, node, 0).strip() + "\u0338")


def _enclosed(node: Any, l2tobj: Any, environmentname: str) -> str:
    before, after = _ENCLOSED[environmentname]
    between = ", " if "cases" in environmentname else " "
    return before + _joined(l2tobj.nodelist_to_text(node.nodelist), between) + after


def _lines(node: Any, l2tobj: Any) -> str:
    text: str = l2tobj.nodelist_to_text(node.nodelist).replace(_NEXT_CELL, " ")
    return text


_MACROS: Final[Mapping[str, tuple[str, Any]]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac", "cfrac"), ("{{", _fraction)),
    **dict.fromkeys(("binom", "dbinom", "tbinom"), ("{{", _binomial)),
    **dict.fromkeys(("xrightarrow", "xleftarrow"), ("[{", _arrow)),
    **dict.fromkeys(("overset", "stackrel"), ("{{", _stacked)),
    **dict.fromkeys(("label", "hspace", "vspace", "phantom", "hphantom", "vphantom"), ("{", "")),
    **dict.fromkeys(("underbrace", "overbrace"), ("{", _braced)),
    **dict.fromkeys(_PLAIN, ("{", _last_argument)),
    **dict.fromkeys(_OVER, ("{", _over)),
    "sqrt": ("[{", _root), "boxed": ("{", _boxed), "pmod": ("{", _modulo), "tag": ("{", _tag),
    "textcolor": ("{{", _last_argument), "color": ("{", ""), "not": ("{", _negated),
}  # fmt: skip
"""Macros with arguments: what the arguments are, and what becomes of them."""


@cache
def _specs() -> "tuple[LatexContextDb, _Converter]":
    parsing = parser_specs().filter_context(keep_categories=_KNOWN, keep_which=["macros"])
    writing = text_specs()
    environments = [*_ENCLOSED, *_LINES]
    with_columns = {"array", "alignat", "alignat*", "alignedat"}
    parsing.add_context_category(
        _OWN,
        prepend=True,
        macros=[
            *(MacroSpec(name, args_parser=arguments) for name, (arguments, _) in _MACROS.items()),
            *(MacroSpec(name, args_parser="") for name in _SYMBOLS),
        ],
        environments=[
            EnvironmentSpec(
                name, args_parser="{" if name in with_columns else "", is_math_mode=True
            )
            for name in environments
        ],
        specials=[
            *(SpecialsSpec(sign, args_parser=MacroStandardArgsParser("{")) for sign in "^_"),
            *(SpecialsSpec(sign) for sign in "&~"),
        ],
    )
    writing.add_context_category(
        _OWN,
        prepend=True,
        macros=[
            *(MacroTextSpec(name, simplify_repl=how) for name, (_, how) in _MACROS.items()),
            *(MacroTextSpec(name, simplify_repl=text) for name, text in _SYMBOLS.items()),
            *(MacroTextSpec(name, simplify_repl=_source) for name in ("input", "include")),
        ],
        environments=[
            *(EnvironmentTextSpec(name, simplify_repl=_enclosed) for name in _ENCLOSED),
            *(EnvironmentTextSpec(name, simplify_repl=_lines) for name in _LINES),
        ],
        specials=[
            *(SpecialsTextSpec(sign, simplify_repl=_script_of) for sign in "^_"),
            SpecialsTextSpec("&", simplify_repl=_NEXT_CELL),
            SpecialsTextSpec("~", simplify_repl=" "),
        ],
    )
    writing.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=_source))
    writing.set_unknown_environment_spec(EnvironmentTextSpec("", simplify_repl=_source))
    return parsing, _Converter(writing, math_mode="text", strict_latex_spaces=True)


def _is_within_limits(source: str) -> bool:
    """Whether a formula is short and shallow enough to be converted in one step."""
    if len(source) > MAX_LENGTH or _NO_BASE.search(source):
        return False
    depth = deepest = 0
    for brace in _BRACES.findall(source):
        depth += 1 if brace == "{" else -1
        deepest = max(deepest, depth)
    return deepest <= _MAX_DEPTH and source.count("\\begin") <= _MAX_DEPTH


@lru_cache(maxsize=_KEPT)
def convert(source: str) -> tuple[str, ...] | None:
    """Return the lines of a formula without its delimiters; None if it cannot be read."""
    if not _is_within_limits(source):
        return None
    parsing, converter = _specs()
    try:
        walker = LatexWalker(source, latex_context=parsing, tolerant_parsing=False)
        nodes, _start, _length = walker.get_latex_nodes()
        text = converter.nodelist_to_text(nodes)
    except Exception:  # noqa: BLE001 -- foreign text: the library raises nearly anything
        return None
    text = _INSIDE.sub("", _SPACES.sub(" ", text.replace(_NEXT_CELL, " ")))
    lines = [line.strip() for line in _AROUND_LINES.split(text)]
    return tuple(line for line in lines if line) or None
