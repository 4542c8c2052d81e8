"""Markdown that costs far more than it looks like, by name; `size` scales every one of them."""

import json
from collections.abc import Callable, Mapping

_PROSE = "The sky is *blue* because **air** scatters `short` waves, see [this](https://a.example). "


def _times(text: str, count: int) -> Callable[[float], str]:
    return lambda size: text * max(int(count * size), 1)


def _fenced(language: str, body: Callable[[float], str], *, closed: bool) -> Callable[[float], str]:
    end = "\n```\n\nend\n" if closed else ""
    return lambda size: f"```{language}\n{body(size)}{end}"


def _before(start: str, body: Callable[[float], str]) -> Callable[[float], str]:
    return lambda size: start + body(size)


def _wide_table(size: float) -> str:
    columns = max(int(2000 * size), 1)
    return f"|{' a |' * columns}\n|{'-|' * columns}\n" + f"|{' b |' * columns}\n" * 5


def _growing_table(size: float) -> str:
    rows = "".join(f"| {'x' * (n % 90)} | {'y ' * (n % 40)} |\n" for n in range(int(2000 * size)))
    return "| a | b |\n|---|---|\n" + rows


def _nested_list(size: float) -> str:
    return "".join("  " * depth + "- item\n" for depth in range(max(int(500 * size), 1)))


def _table_in_item(size: float) -> str:
    return "- | a | b |\n  |---|---|\n" + "  | one | **two** |\n" * max(int(3000 * size), 1)


def _html(size: float) -> str:
    row = '<div class="a" id=b><!-- note --><p>text &amp; more</p><script>let x = "y";</script>\n'
    return row * max(int(5000 * size), 1)


def _json(size: float) -> str:
    rows = [{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(int(3300 * size) + 1)]
    return json.dumps(rows, indent=1)


_PYTHON = 'def f(x: int) -> str:\n    """Doc."""\n    return f"{x} {x!r}"  # note\n\n'

DOCUMENTS: Mapping[str, Callable[[float], str]] = {
    "table of 3,000 rows": _before("| a | b |\n|---|---|\n", _times("| 1 |\n", 3000)),
    "table that widens": _growing_table,
    "table of 2,000 columns": _wide_table,
    "table of formatted cells": _before(
        "|a|b|c|\n|-|-|-|\n", _times("| *a* [b](c) | `d` **e** | ~~f~~ |\n", 3000)
    ),
    "table cell of 300 kB": _before("| a | b |\n|---|---|\n| 1 | ", _times("word ", 60_000)),
    "huge table in an item": _table_in_item,
    "5,000 rules": _times("---\n", 5000),
    "3,000 headings": _times("# Heading *one*\n", 3000),
    "30,000 tiny paragraphs": _times("a\n\n", 30_000),
    "100,000 blank lines": _before("a", _times("\n", 100_000)),
    "5,000 items": _times("- item with *marks* and `code`\n", 5000),
    "5,000 numbered items": _times("1. item with *marks*\n\n", 5000),
    "item of 300 kB": _before("- ", _times(_PROSE + "\n  ", 3300)),
    "quotation of 300 kB": _times("> " + _PROSE + "\n", 3300),
    "500 nested items": _nested_list,
    "3,000 nested quotations": _before("", _times("> ", 3000)),
    "quotations 40 deep": _times("> " * 40 + "deep\n", 300),
    "paragraph of 90 kB": _times(_PROSE, 1000),
    "paragraph of 300 kB": _times(_PROSE, 3300),
    "paragraph of 5,000 lines": _times("some *text* in lines\n", 5000),
    "line of 1,000,000 characters": _times("x", 1_000_000),
    "300,000 spaces": _before("a", lambda size: " " * int(300_000 * size) + "b"),
    "50,000 combining marks": _before("a", _times("\u0301", 50_000)),
    "20,000 zero-width joiners": _times("👩\u200d", 20_000),
    "10,000 tabs": _before("a", _times("\t", 10_000)),
    "wide characters and emoji": _times("日本語テキスト🚀👩\u200d🚀🇩🇪한국어 ", 8000),
    "100,000 open brackets": _times("[", 100_000),
    "20,000 open links": _times("[a](", 20_000),
    "7,900 characters of brackets": _before("[" * 490, _times("a_b ", 1800)),
    "100,000 open emphasis": _times("*a **b _c ", 10_000),
    "100,000 underscores": _times("_a", 50_000),
    "1,000,000 dollars": _times("$", 1_000_000),
    "200,000 dollars apart": _times("a $b ", 200_000),
    "10,000 formulas": _times("so $x_1^{n} + 1$ and ", 10_000),
    "10,000 formulas without end": _times("\\[ a_1\n+ b ", 10_000),
    "formulas that are not closed": _times("- \\[ a\n  b\n", 1200),
    "formulas one in another": _times("\\(" * 20 + "x" + "\\)" * 20 + " ", 1000),
    "nested braces": _times("$" + "{" * 300 + "}" * 300 + "$ ", 150),
    "nested fractions": _times("$$" + "\\frac{1}{" * 60 + "}" * 60 + "$$\n\n", 150),
    "table of formulas": _before("|a|b|\n|-|-|\n", _times("| $x^2$ | $\\frac{1}{2}$ |\n", 3000)),
    "100,000 backticks": _before("a ", _times("`", 100_000)),
    "fence of 100,000 backticks": lambda size: "Code:\n\n" + "`" * int(100_000 * size) + "\nx\n",
    "runs of backticks": lambda size: " ".join("`" * n for n in range(1, int(440 * size) + 2)),
    "20,000 open tags": _times("<a href='", 20_000),
    "3,000 addresses": _times("see https://a.example/path?q=1, ", 3000),
    "20,000 beginnings of addresses": _times("https://", 20_000),
    "20,000 images": _times("![a](b)", 20_000),
    "20,000 entities": _times("&amp;&#x41;&", 20_000),
    "20,000 lines of text as code": _fenced("", _times("line\n", 20_000), closed=False),
    "20,000 lines of python": _fenced("python", _times(_PYTHON, 5000), closed=True),
    "20,000 lines of json": _fenced("json", _json, closed=True),
    "5,000 lines of html": _fenced("html", _html, closed=True),
    "open fence of python": _fenced("python", _times(_PYTHON, 5000), closed=False),
    "code line of 300 kB": _fenced("python", _times("x = 1; ", 43_000), closed=True),
    "code of open strings": _fenced("python", _times('"""a\n\'b "c\n', 5000), closed=True),
    "code of open comments": _fenced("html", _times("<!-- <![CDATA[ <a b='\n", 5000), closed=True),
    "code of open C comments": _fenced("c", _times("/* a \\\n#if x\n", 5000), closed=True),
    "code in two languages": _fenced(
        "html+jinja", _times("<a>{{ x }}{% if y %}\n", 5000), closed=True
    ),
    "indented code": _times("    x = 1\n", 20_000),
    "indented fence": _before("   ```python\n", _times("   x = 1\n", 20_000)),
    "code of wide characters": _fenced(
        "text", _times("日本語テキスト🚀" * 20 + "\n", 2000), closed=True
    ),
}
"""Makes a document from its size; 1 is what its name says."""
