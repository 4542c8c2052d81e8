"""tiktoken's tokenizers, built from bundled rank files instead of downloading them."""

import base64
import json
import logging
import lzma
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.tokens.words import WordCounter

if TYPE_CHECKING:
    import tiktoken

logger = logging.getLogger(__name__)

SHIPPED = frozenset({"cl100k_base", "o200k_base"})
SAME_RANKS: Mapping[str, str] = {"o200k_harmony": "o200k_base"}
"""Encodings that differ from another one only in their control tokens."""
_BEGINNINGS = ("gpt", "chatgpt", "o1", "o3", "o4", "text-", "davinci")
"""How the names of models begin that have these encodings: tiktoken is not loaded for others."""
SLICE = 32 * 1024
"""Characters encoded at once: tiktoken's pattern engine fails on a million spaces in a row."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """What a tokenizer is made of."""

    pattern: str
    """How it cuts a text into words, as a regular expression."""
    ranks: dict[bytes, int]


class Encoding:
    """One tokenizer; text that spells a control token counts as plain text."""

    def __init__(self, name: str, made: "Ranks | tiktoken.Encoding") -> None:
        """Make it of its ranks, or take it as tiktoken has built it."""
        self.name = name
        self._made = made
        self._words = _word_counter(made) if isinstance(made, Ranks) else None
        self._lock = Lock()

    @property
    def core(self) -> "tiktoken.Encoding":
        """The tokenizer of tiktoken, built on first use: nothing else runs for 0.2 s then."""
        with self._lock:
            if isinstance(self._made, Ranks):
                self._made, self._words = _built(self.name, self._made), None
            return self._made

    def count(self, text: str) -> int:
        """Return the number of tokens; a border between slices may add one."""
        words = self._words
        if words is not None and (tokens := words.count(text)) is not None:
            return tokens
        starts = range(0, len(text), SLICE)
        return sum(len(self.core.encode_ordinary(text[at : at + SLICE])) for at in starts)


class Encodings:
    """The tokenizers of this process, each built once, on first use and in a thread.

    Reading the ranks of one takes a third of a second. With them short texts are counted, and
    tiktoken's own tokenizer is built for long ones alone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(__file__).with_name("ranks")
        self._built: dict[str, Encoding | None] = {}
        self._names: dict[str, str | None] = {}
        self._lock = Lock()

    async def encoding_for(self, model: str) -> Encoding | None:
        """Return a model's tokenizer, or None if it is not known or not bundled."""
        name = self._names.get(model, model)
        if name is None or name in self._built:
            return self._built.get(name or "")
        return await to_thread.run_sync(self._find, model, abandon_on_cancel=True)

    def _find(self, model: str) -> Encoding | None:
        name = self._names[model] = encoding_name(model)
        if name is None:
            return None
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build(name)
            return self._built[name]

    def _build(self, name: str) -> Encoding | None:
        try:
            facts = json.loads((self._folder / "encodings.json").read_text("utf-8"))
            packed = (self._folder / f"{name}.tiktoken.xz").read_bytes()
        except OSError as error:
            logger.warning("The tokenizer %s cannot be built: %s", name, error)
            return None
        return Encoding(name, Ranks(facts[name]["pattern"], read_ranks(lzma.decompress(packed))))


def _word_counter(made: Ranks) -> WordCounter:
    # Brought by the first model that needs it, as tiktoken is.
    import regex

    return WordCounter(made.ranks, regex.compile(made.pattern).findall)


def _built(name: str, made: Ranks) -> "tiktoken.Encoding":
    # As above.
    import tiktoken

    return tiktoken.Encoding(
        name, pat_str=made.pattern, mergeable_ranks=made.ranks, special_tokens={}
    )


def encoding_name(model: str) -> str | None:
    """Return the name of a model's encoding if it is bundled; blocks on first use.

    It recognizes names such as `openai/gpt-4o` and `gpt-oss:20b`.
    """
    plain = model.rpartition("/")[2].replace(":", "-")
    if not plain.startswith(_BEGINNINGS):
        return None
    # Imported here for the same reason as above.
    from tiktoken import encoding_name_for_model

    try:
        name = encoding_name_for_model(plain)
    except KeyError:
        return None
    name = SAME_RANKS.get(name, name)
    return name if name in SHIPPED else None


def read_ranks(data: bytes) -> dict[bytes, int]:
    """Read a rank file: each line has a token in base64 and its rank."""
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
