"""Documents that are known to stall renderers of Markdown."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from benchmarks.terminal.answer import TOKEN, ending

DOCUMENTS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "table": lambda: "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3000,
        "rules": lambda: "---\n\n" * 5000,
        "headings": lambda: "".join(f"# Heading {at}\n\n" for at in range(3000)),
        "columns": lambda: (
            "\n".join("|" + f" {cell} |" * 2000 for cell in ("a", "---", "1")) + "\n"
        ),
        "codeline": lambda: "```python\n" + "x = 1; " * 43_000 + "\n```\n",
        "openfence": lambda: "```python\n" + "value = compute(1)  # again\n" * 20_000,
        "longline": lambda: "word " * 200_000,
        "unbroken": lambda: "x" * 1_000_000,
        "combining": lambda: "a" + "\u0301" * 50_000,
        "zwj": lambda: "\U0001f468\u200d" * 20_000,
        "tabs": lambda: "a\t" * 10_000,
        "nested": lambda: "".join("  " * min(at, 60) + f"- item {at}\n" for at in range(2000)),
        "quotes": lambda: ">" * 1000 + " deep\n",
        "stars": lambda: "*a **b " * 20_000,
        "brackets": lambda: "[" * 50_000,
    }
)
"""Builders by name."""
PIECES = 20_000
"""The most pieces that a document is cut into."""


def document_pieces(name: str, ident: int, *, whole: bool) -> list[str]:
    """Give a document between its first and last word, whole or as a model would send it."""
    text = DOCUMENTS[name]()
    body = [text] if whole else _cut(text)
    return [f"QSTART{ident}\n\n", *body, "".join(ending(text, ident))]


def _cut(text: str) -> list[str]:
    found = TOKEN.findall(text)
    step = -(-len(found) // PIECES)
    return ["".join(found[at : at + step]) for at in range(0, len(found), step)]
