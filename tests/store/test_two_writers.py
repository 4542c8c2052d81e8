"""Two programs write one chat: both branches are kept, listed and told of."""

from pathlib import Path

import pytest

from tests.store.rig import rows
from tests.store.two_writers import interleave

INTERLEAVINGS = 500
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
async def test_nothing_that_two_programs_were_told_is_saved_is_lost_or_hidden(
    tmp_path: Path, part: int
) -> None:
    for seed in range(part, INTERLEAVINGS, PARTS):
        path = tmp_path / f"{seed}.db"
        problems = await interleave(path, seed)
        assert problems == [], seed
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        assert rows(path, "PRAGMA foreign_key_check") == []
        lone = (
            "SELECT count(*) FROM conversations AS c WHERE leaf_id NOT IN"
            " (SELECT id FROM messages AS m WHERE m.conversation_id = c.id)"
        )
        assert rows(path, lone) == [(0,)]
