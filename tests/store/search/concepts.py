"""A model that embeds by concepts: words of one meaning have one direction. Also a program that
makes vectors until it is killed: `python -m ... FILE`."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.store.search.similar import SimilarSearch

CONCEPTS = ("car vehicle auto", "egg omelette", "rain drizzle shower", "start run", "boil cook")


class ConceptEmbedder:
    """Counts the words of each concept in a text; a text without any has no vector."""

    def __init__(self, name: str = "concepts", problem: AIError | None = None) -> None:
        self.name = name
        self.problem = problem
        self.texts: list[str] = []

    async def find_model(self) -> str:
        if self.problem is not None:
            raise self.problem
        return self.name

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | None]:
        self.texts += texts
        vectors = []
        for text in texts:
            words = re.findall(r"\w+", text.lower())
            counts = [float(sum(words.count(one) for one in c.split())) for c in CONCEPTS]
            vectors.append(counts if any(counts) else None)
        return vectors


def _report(_done: int, _messages: int) -> None:
    sys.stdout.write("batch\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(SimilarSearch(Path(sys.argv[1]), ConceptEmbedder()).update, _report)
