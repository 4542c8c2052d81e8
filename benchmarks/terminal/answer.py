"""The fixed answer that every program is asked to show.

It looks like what chat models write: headings, paragraphs with inline marks, nested lists, tables,
quotes and fences. It begins with `QSTART<id>` and ends with `QDONE<id>`, so that a
screen alone shows when the first and the last word are there; its blocks carry tags s0000, s0001,
... in reading order, which show the part that is on the screen. It may have single words in the
text, w001, w002, ..., each a piece of its own, which show how long a word waits.
"""

import functools
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

_PROSE = """the a of and to in is that for with as on by from this which each when
value request server stream token buffer widget screen message context model cache
latency memory thread process event loop render update parser output input layout
queue handler network socket client session prompt answer history config schema
index result error retry timeout budget column table cell style theme cursor line
fast slow small large simple stable atomic explicit pending partial final previous
reads writes sends keeps drops waits returns measures compares allocates schedules
therefore however because usually rarely always already only once never often"""
WORDS = _PROSE.split()

CODE = {
    "python": [
        "async def read_lines(reader: Reader, limit: int = {n}) -> list[str]:",
        '    """Collect lines until the peer closes the connection."""',
        "    out: list[str] = []",
        "    while (line := await reader.readline()) and len(out) < limit:",
        "        out.append(line.decode('utf-8').rstrip())  # {w}",
        "        if out[-1] == '{w}':",
        "            raise ValueError(f'unexpected {{out[-1]!r}}')",
        "    return out",
    ],
    "rust": [
        "fn {w}_{n}(input: &str) -> Result<Vec<u32>, ParseIntError> {{",
        "    input.split(',').map(|s| s.trim().parse::<u32>()).collect()",
        "}} // {w}",
    ],
    "json": [
        '{{"name": "{w}", "size": {n}, "tags": ["{w}", "{w}"],',
        ' "nested": {{"enabled": true, "ratio": 0.{n}}}}}',
    ],
    "bash": [
        "for f in *.{w}; do",
        '  grep -c "{w}" "$f" | awk \'{{s += $1}} END {{print s, {n}}}\'',
        "done",
    ],
    "diff": [
        "@@ -{n},3 +{n},4 @@ {w}",
        "-    old_{w} = {n}",
        "+    new_{w} = {n}",
        "     return {w}",
    ],
}
TABLE_HEAD = ["| Tag | Name | Cost | Remark |", "|---|:--|--:|---|"]
TOKEN = re.compile(r"\n+|[ \t]*[A-Za-z]{1,6}|[ \t]*\d{1,3}|[ \t]*[^\sA-Za-z0-9]{1,2}|[ \t]+")
MARKED = re.compile(r"\bw\d{3}\b")
_BETWEEN_WORDS = re.compile(r" [A-Za-z]+")
SEED = 7
FRAME = 8
"""How many pieces of an answer are its first and its last words."""
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


class Writer:
    """Writes Markdown blocks without end, the same ones for the same seed."""

    def __init__(self, seed: int = SEED) -> None:
        self._chance = random.Random(seed)
        self._tags = (f"s{number % 10_000:04d}" for number in itertools.count())

    def blocks(self) -> Iterator[str]:
        """Return headings, each with paragraphs and one block of another kind."""
        others = (self._bullets, self._fence, self._table, self._steps, self._fence, self._quote)
        for section in itertools.count(1):
            marks = "##" if section % 3 == 1 else "###"
            yield f"{marks} {section}. {self._words(4).title()} {next(self._tags)}"
            for _ in range(self._chance.randrange(1, 4)):
                yield self._paragraph(self._chance.randrange(2, 7))
            kind = section % (len(others) + 1)
            yield others[kind - 1]() if kind else self._paragraph(14)

    def _words(self, count: int) -> str:
        return " ".join(self._word() for _ in range(count))

    def _word(self) -> str:
        word, kind = self._chance.choice(WORDS), self._chance.random()
        if kind < 0.03:
            return f"**{word}**"
        if kind < 0.06:
            return f"`{word}_{self._chance.randrange(99)}`"
        if kind < 0.075:
            return f"*{word}*"
        return f"[{word}](https://example.org/{word})" if kind < 0.08 else word

    def _sentence(self) -> str:
        return self._words(self._chance.randrange(8, 19)).capitalize() + "."

    def _paragraph(self, sentences: int) -> str:
        return f"{next(self._tags)} " + " ".join(self._sentence() for _ in range(sentences))

    def _bullets(self) -> str:
        rows = []
        for _ in range(self._chance.randrange(3, 7)):
            rows.append(f"- {next(self._tags)} **{self._words(2)}**: {self._sentence()}")
            if self._chance.random() < 0.4:
                inner = range(self._chance.randrange(1, 3))
                rows += [f"    - {self._sentence()}" for _ in inner]
        return "\n".join(rows)

    def _fence(self) -> str:
        language = self._chance.choice(list(CODE))
        lines, wanted = [f"# {next(self._tags)}"], self._chance.randrange(8, 41)
        while len(lines) < wanted:
            lines += [
                line.format(w=self._chance.choice(WORDS), n=self._chance.randrange(10, 99))
                for line in CODE[language]
            ]
            if len(lines) % 3 == 0:
                lines.append(f"# {next(self._tags)}")
        return f"```{language}\n" + "\n".join(lines) + "\n```"

    def _table(self) -> str:
        rows = [
            f"| {next(self._tags)} | `{self._chance.choice(WORDS)}` "
            f"| {self._chance.randrange(9999)} | {self._words(4)} |"
            for _ in range(self._chance.randrange(4, 11))
        ]
        return "\n".join(TABLE_HEAD + rows)

    def _steps(self) -> str:
        numbers = range(1, self._chance.randrange(4, 9))
        return "\n".join(f"{at}. {next(self._tags)} {self._sentence()}" for at in numbers)

    def _quote(self) -> str:
        return f"> {next(self._tags)} {self._sentence()}\n> {self._sentence()}"


@functools.cache
def _body(count: int) -> tuple[str, ...]:
    tokens: list[str] = []
    for block in Writer().blocks():
        tokens += TOKEN.findall(block + "\n\n")
        if len(tokens) >= count:
            break
    return tuple(tokens[:count])


@functools.cache
def _marked_body(count: int, every: int) -> tuple[str, ...]:
    marked, since, numbers = list[str](), 0, itertools.count(1)
    for before, token in itertools.pairwise(("", *_body(count))):
        since += 1
        if since >= every and before[-1:].isalpha() and _BETWEEN_WORDS.fullmatch(token):
            marked.append(f" w{next(numbers):03d}")
            since = 1
        marked.append(token)
    return tuple(marked[:count])


def pieces(count: int, ident: int = 0, every: int = 0) -> list[str]:
    """Return the answer in `count` pieces (at least 9) of about four characters, as tokens are.

    With `every`, a marked word comes between two others after about so many pieces.
    """
    size = max(count - FRAME, 1)
    body = _marked_body(size, every) if every else _body(size)
    return ["Q", "START", str(ident), "\n\n", *body, *ending("".join(body), ident)]


def ending(text: str, ident: int) -> list[str]:
    """Return the last pieces after a text; a fence that it left open is closed first."""
    is_open = text.count("```") % 2 == 1
    return ["\n```\n\n" if is_open else "\n\n", "Q", "DONE", str(ident)]


def document_pieces(name: str, ident: int, *, whole: bool) -> list[str]:
    """Return a document between its first and last word, whole or as a model would send it."""
    text = DOCUMENTS[name]()
    body = [text] if whole else _cut(text)
    return [f"QSTART{ident}\n\n", *body, "".join(ending(text, ident))]


def _cut(text: str) -> list[str]:
    tokens = TOKEN.findall(text)
    step = -(-len(tokens) // PIECES)
    return ["".join(tokens[at : at + step]) for at in range(0, len(tokens), step)]
