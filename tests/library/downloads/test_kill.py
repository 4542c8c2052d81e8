"""A program that is killed while it downloads loses little, and leaves no wrong file (G5).

`make bench-kill-download` kills 200 times.
"""

import sys
from pathlib import Path

import pytest

from tests.library.downloads.file_host import content
from tests.library.downloads.killing import Verdict, killed
from tests.support.seeds import sampled

SIZE = 24_000_000
MIN_REUSED = 0.95
KILLS_OF_ONE_FILE = 4


async def verdict_of(folder: Path, seed: int) -> Verdict:
    target = folder / "m.gguf"
    verdict = await killed(content(SIZE, seed), target, seed, KILLS_OF_ONE_FILE)
    assert verdict.is_right
    assert verdict.corrupt == 0
    assert [path.name for path in folder.iterdir() if path.name.startswith("m.")] == ["m.gguf"]
    return verdict


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(2), 1))
async def test_a_killed_download_is_gone_on_with(tmp_path: Path, seed: int) -> None:
    verdict = await verdict_of(tmp_path / "models", seed)
    # What was on the way when a kill came was sent in vain: that is at most this for each kill.
    assert verdict.sent <= SIZE * (1 + (1 - MIN_REUSED) * max(1, verdict.kills))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(2, 12, 5))
async def test_many_killed_downloads_are_gone_on_with(
    tmp_path: Path, first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = [await verdict_of(tmp_path / str(seed), seed) for seed in range(first, first + 5)]
    kills = sum(verdict.kills for verdict in verdicts)
    resent = sum(verdict.sent - SIZE for verdict in verdicts)
    with capsys.disabled():
        again = resent / max(1, kills) / SIZE
        sys.stdout.write(f"\n{kills} kills, {again:.2%} of a file sent again for each\n")
    assert resent <= (1 - MIN_REUSED) * SIZE * kills
