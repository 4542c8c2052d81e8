"""Programs that do one thing with saved chats, again and again, until they are killed.

python -m tests.store.kills.program MOMENT FOLDER SEED
"""

import random
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, timedelta
from itertools import count
from pathlib import Path

import anyio

from ollm_tui.exchange.formats import FORMATS
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.new_file import write_file
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.copies.files import listed_copies, make_copy
from ollm_tui.store.copies.restoring import restore
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.search import indexer
from ollm_tui.store.search.service import ChatSearch
from tests.exchange import samples
from tests.store.kills.telling import tell
from tests.store.rig import SETTINGS, asked

CHATS_OF_A_FILE = 30
OF_A_CHAT = 3
FIRST_DAY = date(2026, 1, 1)
_LETTERS = "bcdfghjklmnpqrstvwxz"


def word(chance: random.Random) -> str:
    """Return a word that is nowhere else."""
    return "".join(chance.choices(_LETTERS, k=14))


async def save(journal: ConversationJournal, text: str) -> str:
    """Save a message as an answer of a model is saved, and say so."""
    message = await journal.begin(asked(text))
    tell("saved", chat=journal.conversation_id, message=message, text=text)
    return message


async def index(folder: Path, chance: random.Random) -> None:
    """Save, and index what was saved in the background at the same time."""
    indexer.SLICE_ROWS = 5  # type: ignore[misc]
    path = folder / "chats.db"
    async with open_store(path) as store:
        search = ChatSearch(path, first_look_s=0)
        search.start()
        tell("ready")
        while True:
            journal = store.journal(SETTINGS)
            for _ in range(OF_A_CHAT):
                await save(journal, f"common {word(chance)}")
            search.start()
            if chance.random() < 0.3:
                await _delete_oldest(store)


async def _delete_oldest(store: ConversationStore) -> None:
    chats = await store.list(limit=1000)
    if len(chats) > 3:
        tell("deleting", chat=chats[-1].id)
        await store.delete(chats[-1].id)


async def import_chats(folder: Path, chance: random.Random) -> None:
    """Import one file after the other."""
    async with open_store(folder / "chats.db") as store:
        tell("ready")
        while True:
            name = word(chance)
            many = [samples.chatgpt(f"{name}-{place}") for place in range(CHATS_OF_A_FILE)]
            file = samples.written(folder / f"{name}.json", many)
            tell("importing", file=str(file))

            def report(_file: ImportFile, result: ImportResult, name: str = str(file)) -> None:
                tell("imported", file=name, chats=result.chats)

            await import_files([file], store.records, report, ImportResult())


async def migrate_chats(folder: Path, chance: random.Random) -> None:
    """Bring chats of the first format up to date, and save one more."""
    tell("ready")
    while True:
        place = folder / word(chance)
        place.mkdir()
        shutil.copyfile(folder / "old.db", place / "chats.db")
        tell("migrating", folder=str(place))
        async with open_store(place / "chats.db") as store:
            assert store.saves, store.notice
            tell("migrated", folder=str(place))
            journal = store.journal(SETTINGS)
            text = word(chance)
            await journal.begin(asked(text))
            tell("saved there", folder=str(place), text=text)


async def delete(folder: Path, chance: random.Random) -> None:
    """Delete, restore and purge branches and chats."""
    async with open_store(folder / "chats.db") as store:
        tell("ready")
        while True:
            journal, texts = store.journal(SETTINGS), [word(chance) for _ in range(4)]
            for text in texts:
                await save(journal, text)
            chat, path = journal.conversation_id, journal.path
            for _ in range(chance.randrange(1, 4)):
                await _delete_or_restore(store, chance, chat, path, texts)
            if chance.random() < 0.4:
                tell("purging")
                await store.deletions.purge(0)
                tell("purged")


async def _delete_or_restore(
    store: ConversationStore,
    chance: random.Random,
    chat: str,
    path: tuple[str, ...],
    texts: list[str],
) -> None:
    match chance.choice(["branch", "chat", "restore"]):
        case "branch":
            tell("doing", chat=chat, hidden=texts[2:])
            await store.deletions.delete_messages(chat, path[2])
            tell("done", chat=chat, hidden=texts[2:])
        case "chat":
            tell("doing", chat=chat, hidden=texts)
            await store.delete(chat)
            tell("done", chat=chat, hidden=texts)
        case _:
            tell("doing", chat=chat, hidden=[])
            while await store.deletions.undelete(chat) is not None:
                pass
            tell("done", chat=chat, hidden=[])


async def compact(folder: Path, chance: random.Random) -> None:
    """Put a summary in the place of the first messages, and repeat those behind it."""
    async with open_store(folder / "chats.db") as store:
        tell("ready")
        while True:
            journal = store.journal(SETTINGS)
            texts = [word(chance) for _ in range(6)]
            for text in texts:
                await save(journal, text)
            kept = chance.randrange(5)
            after = [*texts[:kept], word(chance), *texts[kept:]]
            chat = journal.conversation_id
            tell("compacting", chat=chat, before=texts, after=after)
            await journal.branch(kept, [asked(text) for text in after[kept:]])
            tell("compacted", chat=chat, after=after)


async def export(folder: Path, chance: random.Random) -> None:
    """Write chats in all formats, to new files and over old ones."""
    target = folder / "exports"
    target.mkdir(exist_ok=True)
    async with open_store(folder / "chats.db") as store:
        chats = [one.id for one in await store.list()]
        tell("ready")
        for number in count():
            record = await store.records.read(chance.choice(chats))
            assert record is not None
            form = chance.choice([*FORMATS.values()])
            stem = word(chance) if chance.random() < 0.5 else f"same{number % 3}"
            file = target / f"{stem}{form.suffixes[0]}"
            tell("writing", file=str(file), chat=record.id, form=form.name)
            write_file(file, form.pieces(record), replaces=True)
            tell("written", file=str(file), chat=record.id, form=form.name)


async def copy_and_restore(folder: Path, chance: random.Random) -> None:
    """Save, take the copy of the next day, and sometimes put an earlier one in place."""
    path = folder / "chats.db"
    day = max((one.day for one in listed_copies(path)), default=FIRST_DAY)
    tell("ready")
    while True:
        async with open_store(path) as store:
            assert store.saves, store.notice
            for _ in range(2):
                await save(store.journal(SETTINGS), word(chance))
            day += timedelta(days=1)
            tell("copying", day=day.isoformat())
            assert make_copy(path, day, lambda: False) is not None
            tell("copied", day=day.isoformat())
        if chance.random() < 0.5:
            chosen = chance.choice(listed_copies(path))
            tell("restoring", day=chosen.day.isoformat())
            restore(path, chosen, "killed")
            tell("restored", day=chosen.day.isoformat())


PROGRAMS: Mapping[str, Callable[[Path, random.Random], Awaitable[None]]] = {
    "indexing": index,
    "importing": import_chats,
    "migrating": migrate_chats,
    "deleting": delete,
    "exporting": export,
    "compacting": compact,
    "copying": copy_and_restore,
}


async def main() -> None:
    """Do one of them until the end."""
    moment, folder, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    await PROGRAMS[moment](folder, random.Random(seed))


if __name__ == "__main__":
    anyio.run(main)
