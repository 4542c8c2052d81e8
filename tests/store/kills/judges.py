"""What has to hold of the files that a killed program left: a judge for each moment.

A judge yields a sentence for whatever is lost, torn or still there.
"""

import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path

from ollm_tui.exchange.formats import FORMATS
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.copies.files import listed_copies
from ollm_tui.store.migrate import shipped_migrations
from ollm_tui.store.search.index_file import IndexPlace
from tests.exchange import samples
from tests.store.kills.program import CHATS_OF_A_FILE
from tests.store.kills.telling import Line, of
from tests.store.rig import rows
from tests.store.search.rig import by_index, by_reading, update

MANY = 1_000_000
IMPORTED_MESSAGES = 6
IMPORTED_TITLE = str(samples.chatgpt()["title"])
Judge = Callable[[Path, ConversationStore, list[Line]], AsyncIterator[str]]


def texts_in(path: Path) -> set[str]:
    """Return the texts of all messages of a file, as another program reads them."""
    query = "SELECT json_extract(body, '$.content[0].text') FROM messages"
    return {str(text) for (text,) in rows(path, query)}


def unsound(path: Path) -> str | None:
    """Return what SQLite says of a file, or None if it is whole."""
    with closing(sqlite3.connect(path)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    return None if (verdict, orphans) == ("ok", []) else f"{path.name}: {verdict} {orphans[:1]}"


async def indexing(
    folder: Path, _store: ConversationStore, lines: list[Line]
) -> AsyncIterator[str]:
    path = folder / "chats.db"
    for problem in _unsaved(path, lines):
        yield problem
    index = IndexPlace(path).index
    if index.exists() and rows(index, "PRAGMA integrity_check") != [("ok",)]:
        yield "the index is damaged"
    update(path)
    if by_index(path, "common", MANY) != by_reading(path, "common", MANY):
        yield "the index differs from the chats"
    if update(path):
        yield "something is indexed again and again"


def _unsaved(path: Path, lines: list[Line]) -> list[str]:
    there = texts_in(path)
    deleted = {line["chat"] for line in of(lines, "deleting")}
    saved = [line["text"] for line in of(lines, "saved") if line["chat"] not in deleted]
    return [f"{text} is lost" for text in saved if text not in there]


async def importing(
    _folder: Path, store: ConversationStore, lines: list[Line]
) -> AsyncIterator[str]:
    for started in of(lines, "importing"):
        file = started["file"]
        told = [line["chats"] for line in of(lines, "imported") if line["file"] == file]
        again = ImportResult()
        await import_files([Path(file)], store.records, lambda *_: None, again)
        if again.continued or again.problems:
            yield f"{file}: not whole: {again}"
        if (
            again.unchanged < max(told, default=0)
            or again.unchanged + again.chats != CHATS_OF_A_FILE
        ):
            yield f"{file}: {again.unchanged} there of {told[-1:]}"
    for chat in await store.list(limit=MANY):
        if chat.title == IMPORTED_TITLE and chat.total_messages != IMPORTED_MESSAGES:
            yield f"a chat of {chat.total_messages} messages"


async def migrating(
    folder: Path, _store: ConversationStore, lines: list[Line]
) -> AsyncIterator[str]:
    newest = shipped_migrations()[-1].number
    whole = texts_in(folder / "old.db")
    done = {line["folder"] for line in of(lines, "migrated")}
    for line in of(lines, "migrating"):
        path = Path(line["folder"]) / "chats.db"
        copy = path.with_name(f"chats-before-{newest}.db")
        (version,) = rows(path, "PRAGMA user_version")[0]
        if version not in ({newest} if line["folder"] in done else {1, newest}):
            yield f"{path}: format {version}"
        if version == newest and not copy.exists():
            yield f"{path}: changed without a copy of before"
        async with open_store(path) as store:
            if store.notice is not None:
                yield f"{path}: {store.notice}"
        if copy.exists() and (unsound(copy) or texts_in(copy) != whole):
            yield f"{copy}: not the chats of before"
        if problem := unsound(path):
            yield problem
        later = {one["text"] for one in of(lines, "saved there") if one["folder"] == line["folder"]}
        if not texts_in(path) >= whole | later:
            yield f"{path}: messages are lost"


async def deleting(folder: Path, store: ConversationStore, lines: list[Line]) -> AsyncIterator[str]:
    shown: set[str] = set()
    for chat in await store.list(limit=MANY):
        for branch in (await store.load(chat.id)).branches:
            loaded = await store.load(chat.id, branch.leaf_id)
            shown |= {one.message.text for one in loaded.messages}
    texts, hidden, unknown, purged = _replayed(lines)
    for text in texts - hidden - unknown - shown:
        yield f"{text} was not deleted and is gone"
    for text in (hidden - unknown) & shown:
        yield f"{text} was deleted and is shown"
    await store.deletions.purge(0)
    path = folder / "chats.db"
    update(path)
    left = [*path.parent.glob("chats.db*"), *path.parent.glob("chats-search.db*")]
    content = b"".join(file.read_bytes() for file in left)
    for text in (hidden | purged) - shown:
        if text.encode() in content:
            yield f"{text} was purged and is in a file"


def _replayed(lines: list[Line]) -> tuple[set[str], set[str], set[str], set[str]]:
    """Return all texts, those that are deleted, those that may be either, and those purged."""
    texts: dict[str, list[str]] = {}
    hidden: dict[str, set[str]] = {}
    unknown: set[str] = set()
    purged: set[str] = set()
    for line in lines:
        match line["what"]:
            case "saved":
                texts.setdefault(line["chat"], []).append(line["text"])
            case "doing":
                unknown |= {*texts[line["chat"]]}
            case "done":
                unknown -= {*texts[line["chat"]]}
                before = hidden.get(line["chat"], set())
                hidden[line["chat"]] = {*line["hidden"]} | (before if line["hidden"] else set())
            case "purging" | "purged":
                purged |= set().union(*hidden.values())
            case _:
                pass
    return set(chain(*texts.values())), set().union(*hidden.values()), unknown, purged


async def compacting(
    folder: Path, store: ConversationStore, lines: list[Line]
) -> AsyncIterator[str]:
    for problem in _unsaved(folder / "chats.db", lines):
        yield problem
    done = {line["chat"] for line in of(lines, "compacted")}
    for line in of(lines, "compacting"):
        stored = await store.load(line["chat"])
        shown = [message.text for message in stored.history]
        if shown not in (
            [line["after"]] if line["chat"] in done else [line["before"], line["after"]]
        ):
            yield f"{line['chat']} shows {shown}"
        branches = [await store.load(line["chat"], one.leaf_id) for one in stored.branches]
        if line["before"] not in [[m.text for m in one.history] for one in branches]:
            yield f"{line['chat']} has lost its messages"


async def exporting(
    folder: Path, store: ConversationStore, lines: list[Line]
) -> AsyncIterator[str]:
    # A file that was being replaced has the text of one of the chats, before or after.
    whole: dict[str, set[str]] = {name: set() for name in FORMATS}
    for chat in await store.list(limit=MANY):
        record = await store.records.read(chat.id)
        assert record is not None
        for name, form in FORMATS.items():
            whole[name].add("".join(form.pieces(record)))
    for line in of(lines, "written"):
        if not Path(line["file"]).exists():
            yield f"{line['file']} is not there"
    for line in of(lines, "writing"):
        file = Path(line["file"])
        if file.exists() and file.read_text("utf-8") not in whole[line["form"]]:
            yield f"{file} is not whole"
        if file.exists() and stat.S_IMODE(file.stat().st_mode) != 0o600:
            yield f"{file} can be read by others"
    for left in (folder / "exports").glob(".*"):
        left.unlink()


async def copying(folder: Path, _store: ConversationStore, lines: list[Line]) -> AsyncIterator[str]:
    path = folder / "chats.db"
    days = {copy.day.isoformat(): copy for copy in listed_copies(path)}
    newest = max((line["day"] for line in of(lines, "copied")), default=None)
    if newest is not None and newest not in days:
        yield f"the copy of {newest} is not there"
    for copy in days.values():
        if problem := unsound(copy.path):
            yield problem
    kept = [path, *path.parent.glob("chats-replaced-*.db")]
    for file in kept:
        if problem := unsound(file):
            yield problem
    restored = [at for at, line in enumerate(lines) if line["what"] == "restoring"]
    after = restored[-1] + 1 if restored else 0
    everywhere = set[str]().union(*map(texts_in, kept))
    for at, line in enumerate(lines):
        if line["what"] == "saved" and line["text"] not in (
            texts_in(path) if at >= after else everywhere
        ):
            yield f"{line['text']} is lost"
    for file in kept[1:]:
        file.unlink()


JUDGES: Mapping[str, Judge] = {
    "indexing": indexing,
    "importing": importing,
    "migrating": migrating,
    "deleting": deleting,
    "exporting": exporting,
    "compacting": compacting,
    "copying": copying,
}
