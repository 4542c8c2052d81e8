"""Seeded runs against a server that lies and breaks: the right file or none (row G4)."""

import random
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from ollm_tui.library.downloads.part_file import resumable_bytes
from ollm_tui.protocol.errors import AIError
from tests.library.downloads.file_host import ALL, PASSING, FileHost, content
from tests.library.downloads.rig import IMPATIENT, Bench, bench
from tests.support.http_server import Received, Reply, serve
from tests.support.seeds import VARIABLE, chance_for

FEW, ALL_RUNS, IN_ONE_TEST = 30, 300, 60
MAX_TRIES = 12


@dataclass
class Tally:
    """What came of the runs."""

    whole: int = 0
    refused: int = 0
    tries: int = 0
    resumed: int = 0


async def one(folder: Path, chance: random.Random, tally: Tally) -> None:
    """Fetch one file from a server of one kind, again and again until it is there or refused."""
    data = content(chance.choice([1, 1000, 50_000, 300_000]), chance.randrange(10**9))
    kinds = PASSING if chance.random() < 0.5 else ALL
    lies = [chance.choice(kinds) for _ in range(chance.randrange(8))]
    host = FileHost(data, lies=lies, chance=chance)
    wanted = host.sum
    linked = {"x-linked-etag": f'"{wanted}"', "x-linked-size": str(len(data))}
    is_listed = chance.random() < 0.5
    async with AsyncExitStack() as stack:
        cdn = await stack.enter_async_context(serve(host))

        async def hub(request: Received, reply: Reply) -> None:
            await reply.whole(b"", 302, headers={"location": f"{cdn.url}/file", **linked})

        b = await stack.enter_async_context(bench(folder, host, IMPATIENT))
        at_hub = await stack.enter_async_context(serve(hub))
        source = b.source(
            url=f"{at_hub.url}/m.gguf",
            sha256=wanted if is_listed else None,
            size=len(data) if chance.random() < 0.5 else None,
        )
        for _ in range(MAX_TRIES):
            tally.tries += 1
            try:
                await b.fetch(source)
            except AIError as error:
                assert error.message  # noqa: PT017 -- no failure is what most of these are about
                assert not b.target.exists()
            else:
                break
        judge(b, wanted, tally)
        tally.resumed += sum(range_ is not None for range_ in host.ranges)


def judge(b: Bench, wanted: str, tally: Tally) -> None:
    if b.target.exists():
        tally.whole += 1
        assert FileHost(b.target.read_bytes()).sum == wanted
        assert b.left() == {"m.gguf"}
    else:
        tally.refused += 1
        assert b.left() <= {"m.gguf.part", "m.gguf.part.json"}
        assert resumable_bytes(b.target) >= 0


async def play(folder: Path, seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        await one(folder / str(seed), chance_for(seed), tally)
    return tally


async def test_faulty_transfers_end_in_the_right_file_or_none(tmp_path: Path) -> None:
    tally = await play(tmp_path, range(FEW))
    assert tally.whole + tally.refused == FEW
    assert tally.whole >= FEW // 2, "most faults pass"
    assert tally.resumed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL_RUNS, IN_ONE_TEST))
async def test_many_faulty_transfers_end_in_the_right_file_or_none(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)  # each run has a seed of its own
    tally = await play(tmp_path, range(first, first + IN_ONE_TEST))
    assert tally.whole + tally.refused == IN_ONE_TEST
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n")
