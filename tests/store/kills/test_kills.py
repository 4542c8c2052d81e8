"""Whatever is done with saved chats, kill -9 loses nothing that was done and leaves whole files."""

from pathlib import Path

import pytest

from ollm_tui.store.conversations import open_store
from tests.store.kills.judges import JUDGES
from tests.store.kills.killing import kill_once, prepare
from tests.store.kills.telling import Line
from tests.store.rig import reached, save_chat
from tests.support.seeds import sampled

SEEDS = 4


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", sampled(range(2, SEEDS + 2), 1))
@pytest.mark.parametrize("moment", JUDGES)
def test_a_kill_loses_nothing_that_was_done(tmp_path: Path, moment: str, seed: int) -> None:
    verdict = kill_once(moment, tmp_path / moment, seed)
    assert verdict.problems == []
    assert verdict.reopen_s <= 1


def lies(moment: str, folder: Path, chat: str, shown: str) -> list[Line]:
    """Return what a program may have told that is not so."""
    saved = {"what": "saved", "chat": chat, "text": "never saved"}
    file = str(folder / "exports" / "missing.md")
    told: dict[str, list[Line]] = {
        "indexing": [saved],
        "importing": [{"what": "importing", "file": str(folder / "empty.json")}],
        "migrating": [{"what": "migrating", "folder": str(folder / "elsewhere")}],
        "deleting": [
            {"what": "saved", "chat": chat, "text": shown},
            {"what": "doing", "chat": chat, "hidden": [shown]},
            {"what": "done", "chat": chat, "hidden": [shown]},
        ],
        "compacting": [{"what": "compacting", "chat": chat, "before": ["x"], "after": ["y"]}],
        "exporting": [
            {"what": what, "file": file, "chat": chat, "form": "md"}
            for what in ("writing", "written")
        ],
        "copying": [{"what": "copied", "day": "2026-01-01"}, saved],
    }
    return told[moment]


@pytest.mark.parametrize("moment", JUDGES)
async def test_a_judge_sees_what_was_told_and_is_not_so(tmp_path: Path, moment: str) -> None:
    prepare("migrating", tmp_path)
    (tmp_path / "exports").mkdir()
    (tmp_path / "empty.json").write_text("[]")
    async with open_store(tmp_path / "elsewhere" / "chats.db") as empty:
        await save_chat(empty, "not those of before")
    async with open_store(tmp_path / "chats.db") as store:
        chat = await save_chat(store, "shown")
        assert "shown" in (await reached(store)).values()
        told = lies(moment, tmp_path, chat, "shown")
        assert [problem async for problem in JUDGES[moment](tmp_path, store, told)]
        assert [problem async for problem in JUDGES[moment](tmp_path, store, [])] == []
