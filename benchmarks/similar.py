"""Similar messages among 100,000: whether a paraphrase is there, and how long that takes.

    python -m benchmarks.similar MODEL.gguf [MESSAGES] [EMBEDDED]

MODEL is an embedding model for the built-in engine, such as all-MiniLM. EMBEDDED of the messages
are embedded by it, and so are the ten that are searched and their paraphrases. The vectors of the
others are made of those with noise, which takes no hours: the time of a lookup does not depend on
them. Embedding what is searched and the lookup are timed apart.
"""

import itertools
import json
import os
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio

from benchmarks.chat_search import shown
from benchmarks.stalls import watched_loop
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.message import Message
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.media.similar import ChatEmbedder
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.rows import ConversationSettings
from ollm_tui.store.search.embedding_queue import VectorWriter, WaitingText
from ollm_tui.store.search.index_file import IndexPlace, open_for_reading, open_index
from ollm_tui.store.search.indexer import indexing
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.search.similar import SimilarSearch

MESSAGES, EMBEDDED, ROUNDS, BATCH = 100_000, 5_000, 5, 16
NOISE = 0.03
PAIRS = (
    ("My car does not start in the morning", "the vehicle's engine refuses to turn over"),
    ("How long do I boil an egg?", "cooking time for eggs in hot water"),
    ("Why is the sky blue?", "reason for the colour of the heavens by day"),
    ("I cannot fall asleep at night", "suffering from insomnia"),
    ("Translate this letter into French", "turn the text to the language of Paris"),
    ("What is the capital of Australia?", "which city is the seat of government down under"),
    ("My cat refuses to eat its food", "the kitten has lost its appetite"),
    ("How do I ask my boss for more money?", "negotiating a higher salary"),
    ("The function returns None instead of a list", "method gives back null, not an array"),
    ("Which wine goes with fish?", "a drink to serve with salmon"),
)
PARTS = (
    ("My neighbour", "The committee", "A student", "Our plumber", "The orchestra", "This museum"),
    ("bought", "described", "painted", "lost", "repaired", "measured", "sold", "studied"),
    ("an old bridge", "three lamps", "a long novel", "the garden", "a stone wall", "two violins"),
    ("in Lisbon", "during the storm", "for a friend", "before noon", "near the river", "by train"),
)


class TimedEmbedder(ChatEmbedder):
    """Notes how long each request took."""

    took_s = 0.0

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | None]:
        began = time.perf_counter()
        try:
            return await super().embed(texts)
        finally:
            self.took_s = time.perf_counter() - began


async def make_chats(path: Path, count: int) -> list[str]:
    """Save the messages, and return their texts, in their order."""
    chance = random.Random(5)
    others = [" ".join(parts) for parts in itertools.product(*PARTS)]
    texts = [f"{chance.choice(others)}, {number}" for number in range(count)]
    for place, (text, _) in zip(range(7, count, count // len(PAIRS)), PAIRS, strict=False):
        texts[place] = text
    async with open_store(path) as store:
        journal = store.journal(ConversationSettings(model="local://tiny"))
        await journal.begin(Message("user", texts[0]))
    with closing(open_for_reading(path)) as chats:
        (chat,) = chats.execute("SELECT id FROM conversations").fetchone()
    _insert(path, chat, texts)
    with indexing(IndexPlace(path)) as indexer:
        assert indexer is not None
        sum(indexer.run())
    return texts


def _insert(path: Path, chat: str, texts: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as chats, chats:
        chats.execute("PRAGMA synchronous = OFF")
        chats.executemany(
            "INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, created_ms,"
            " updated_ms, body) VALUES (?, ?, NULL, 1, 'user', 'complete', 1, 1, ?)",
            (
                (f"m{number:035}", chat, json.dumps({"role": "user", "content": text}))
                for number, text in enumerate(texts)
                if number
            ),
        )


def with_noise(
    vectors: Sequence[Sequence[float]], texts: Sequence[WaitingText]
) -> Iterator[Sequence[float]]:
    """Yield a vector for each text: one of these, moved a little."""
    chance = random.Random(6)
    for _ in texts:
        yield [value + chance.gauss(0, NOISE) for value in chance.choice(vectors)]


async def make_vectors(
    path: Path, texts: Sequence[str], embedder: TimedEmbedder, embedded: int
) -> None:
    """Embed the first texts, and give the others vectors like theirs."""
    with closing(open_index(IndexPlace(path).index)) as index:
        rows = index.execute("SELECT number, updated_ms FROM messages ORDER BY number").fetchall()
        plain = {text for text, _ in PAIRS}
        waiting = [
            WaitingText(number, at, text) for (number, at), text in zip(rows, texts, strict=True)
        ]
        waiting.sort(key=lambda one: one.text not in plain)
        writer, model = VectorWriter(index), await embedder.find_model()
        list(writer.use_model(model))
        made: list[Sequence[float]] = []
        began = time.perf_counter()
        for start in range(0, embedded, BATCH):
            some = waiting[start : min(start + BATCH, embedded)]
            vectors = [v for v in await embedder.embed([one.text for one in some]) if v]
            writer.store(model, some, vectors)
            made += vectors
        took = time.perf_counter() - began
        print(f"embedded {embedded:,} short messages, {took / embedded * 1000:.1f} ms each")
        rest = waiting[embedded:]
        for start in range(0, len(rest), 1000):
            some = rest[start : start + 1000]
            writer.store(model, some, [*with_noise(made, some)])


async def measure(folder: Path, model: Path, count: int, embedded: int) -> None:
    """Print all figures."""
    paths = AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))
    paths.models_dir.mkdir(parents=True)
    shutil.copy(model, paths.models_dir / model.name)
    path = paths.data_dir / FILE_NAME
    texts = await make_chats(path, count)
    async with load_runtime(Flags(), {}, paths)() as runtime:
        embedder = TimedEmbedder(runtime)
        await make_vectors(path, texts, embedder, embedded)
        size = IndexPlace(path).index.stat().st_size / 1e6
        print(f"index with vectors {size:,.0f} MB; load {os.getloadavg()[0]:.1f}")
        search = SimilarSearch(path, embedder)
        lookups: list[float] = []
        embeddings: list[float] = []
        places: list[int] = []
        async with watched_loop() as stalls:
            for number, (text, paraphrase) in enumerate(PAIRS * ROUNDS):
                began = time.perf_counter()
                results = await search.search(parse_query(paraphrase))
                took = time.perf_counter() - began - embedder.took_s
                if number == 0:
                    print(f"{'first, vectors loaded':24} {took * 1000:.1f} ms")
                    continue
                lookups.append(took)
                embeddings.append(embedder.took_s)
                listed = [one.hit.snippet.text for one in results.hits]
                places.append(listed.index(text) + 1 if text in listed else 0)
        print(shown("lookup", lookups))
        print(shown("embedding the words", embeddings))
        print(f"{'event loop':24} {stalls}")
        print(
            f"paraphrases: first {places.count(1)}, among ten {sum(map(bool, places))}, "
            f"of {len(places)}; median place {statistics.median(places):.0f}"
        )


if __name__ == "__main__":
    amount = int(sys.argv[2]) if len(sys.argv) > 2 else MESSAGES
    share = int(sys.argv[3]) if len(sys.argv) > 3 else EMBEDDED
    with tempfile.TemporaryDirectory() as made:
        anyio.run(measure, Path(made), Path(sys.argv[1]), amount, share)
