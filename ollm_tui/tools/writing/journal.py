"""What tools changed in one chat: kept before it is written, shown as diffs, and taken back."""

import base64
import json
import logging
import shutil
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import is_folder, read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.writing.command_notes import CommandNotes
from ollm_tui.tools.writing.diffs import diff_of
from ollm_tui.tools.writing.replacing import (
    Change,
    ChangedSince,
    is_as_before,
    remove_empty,
    replace,
)

MAX_KEPT_BYTES: Final = 64_000_000
"""Of one chat; the oldest changes are forgotten first."""
MAX_CHATS: Final = 100
"""Folders of chats that are kept."""
_MAX_FILE_BYTES: Final = 4_000_000
_DIGITS: Final = 8

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One change by one call."""

    number: int
    call_id: str
    prompt_id: str
    change: Change
    made_folders: int

    @property
    def size(self) -> int:
        """Bytes that are kept for it."""
        return len(self.change.old or b"") + len(self.change.new or b"")


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A file whose change was taken back, or why it was not."""

    shown: str
    what: str
    """`removed` or `restored`."""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that this chat changed, from before its first change to after its last one."""

    shown: str
    text: str
    """A unified diff; empty if it is as it was before."""
    is_current: bool
    """Whether the file still is as it was left."""


class ChangeJournal:
    """The changes of one chat, in a private folder or, without one, in memory; it blocks."""

    def __init__(self, folder: Path | None = None, guard: FileGuard | None = None) -> None:
        self._folder = folder
        self._guard = guard or FileGuard()
        self._lock = threading.Lock()
        self._entries: list[Entry] | None = None
        self._passed: set[int] = set()
        """What could not be taken back, so that `undo` goes on with what is older."""
        self.commands = CommandNotes(folder)
        """Which files commands changed."""

    def write(self, change: Change, call_id: str, prompt_id: str, made_folders: int) -> None:
        """Keep what a file was, then change it.

        Raises:
            ToolFailure: it cannot be kept, or not be written; then nothing was.
        """
        with self._lock:
            entries = self._loaded()
            number = entries[-1].number + 1 if entries else 1
            entry = Entry(number, call_id, prompt_id, change, made_folders)
            try:
                self._keep(entry)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ToolFailure(
                    f"Not written: what {change.shown} was cannot be kept for /undo ({reason})."
                ) from None
            try:
                replace(change, self._guard)
            except BaseException:
                self._forget(entry)
                raise
            entries.append(entry)
            self._shorten(entries)

    def undo(self, *, only_call: bool = False) -> list[TakenBack]:
        """Take back the changes of the newest prompt, or only of its newest call.

        A file that has changed since stays as it is; the next time, an older prompt has its turn.
        """
        with self._lock:
            entries = self._loaded()
            if not entries:
                return []
            if all(one.number in self._passed for one in entries):
                self._passed.clear()
            left = [one for one in entries if one.number not in self._passed]
            newest = left[-1]
            wanted = [
                one
                for one in left
                if one.prompt_id == newest.prompt_id
                and (not only_call or one.call_id == newest.call_id)
            ]
            return [*self._taken_back(wanted, entries)]

    def changed_files(self) -> list[ChangedFile]:
        """Return what this chat changed, file by file, in the order of the first change."""
        with self._lock:
            by_file: dict[tuple[Path, tuple[str, ...]], list[Change]] = {}
            for entry in self._loaded():
                change = entry.change
                by_file.setdefault((change.root, change.names), []).append(change)
            return [file for one in by_file.values() if (file := self._changed(one)) is not None]

    def _changed(self, changes: Sequence[Change]) -> ChangedFile | None:
        first, last = changes[0], changes[-1]
        diff = diff_of(first.shown, _text(first.old), _text(last.new))
        path = Path(last.root, *last.names)
        try:
            current: bytes | None = read_bounded(path, _MAX_FILE_BYTES)
        except (OSError, ValueError):
            current = None
        is_current = current == last.new
        return ChangedFile(first.shown, diff.text, is_current) if diff.text else None

    def _taken_back(self, wanted: Sequence[Entry], entries: list[Entry]) -> Iterator[TakenBack]:
        stuck: dict[tuple[str, ...], str] = {}
        for entry in reversed(wanted):
            change = entry.change
            if change.names not in stuck:
                try:
                    replace(change.reverse, self._guard)
                except ToolFailure as failure:
                    # the program may have ended between keeping the entry and writing the file
                    if not is_as_before(change, self._guard):
                        stuck[change.names] = self._problem(change, failure)
                if change.names not in stuck:
                    remove_empty(change, entry.made_folders, self._guard)
                    entries.remove(entry)
                    self._forget(entry)
            if change.names in stuck:
                self._passed.add(entry.number)
        first: dict[tuple[str, ...], Change] = {}
        for entry in wanted:
            first.setdefault(entry.change.names, entry.change)
        for names, change in first.items():
            what = "removed" if change.old is None else "restored"
            yield TakenBack(change.shown, what, stuck.get(names))

    @staticmethod
    def _problem(change: Change, failure: ToolFailure) -> str:
        if isinstance(failure, ChangedSince):
            return f"{change.shown} has changed since, so it was left alone."
        return str(failure)

    def copy_to(self, folder: Path, call_ids: Collection[str]) -> None:
        """Write what some calls changed for a copy of the chat.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            wanted = [one for one in self._loaded() if one.call_id in call_ids]
        copy = ChangeJournal(folder, self._guard)
        for entry in wanted:
            copy._keep(entry)
        self.commands.copy_to(folder, call_ids)

    # On the disk

    def _loaded(self) -> list[Entry]:
        if self._entries is None:
            self._entries = [*self._read()]
        return self._entries

    def _read(self) -> Iterator[Entry]:
        if self._folder is None:
            return
        for path in sorted(self._folder.glob("*.json")):
            try:
                yield _entry(json.loads(read_bounded(path, _MAX_FILE_BYTES)))
            except (OSError, ValueError, KeyError, TypeError):
                logger.warning("The change %s cannot be read.", path.name)

    def _keep(self, entry: Entry) -> None:
        if self._folder is None:
            return
        if not is_folder(self._folder):
            _remove_old(self._folder.parent)
        write_private(self._file(entry), json.dumps(_as_json(entry)).encode())

    def _forget(self, entry: Entry) -> None:
        if self._folder is not None:
            with suppress(OSError):
                self._file(entry).unlink()

    def _shorten(self, entries: list[Entry]) -> None:
        total = sum(entry.size for entry in entries)
        while total > MAX_KEPT_BYTES and len(entries) > 1:
            total -= entries[0].size
            self._forget(entries.pop(0))

    def _file(self, entry: Entry) -> Path:
        assert self._folder is not None
        return self._folder / f"{entry.number:0{_DIGITS}}.json"


def _remove_old(folder: Path) -> None:
    """Remove the oldest chats' folders, so that there is room for one more."""
    with suppress(OSError):
        chats = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)
        for chat in chats[: max(0, len(chats) - MAX_CHATS + 1)]:
            shutil.rmtree(chat, ignore_errors=True)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


def _as_json(entry: Entry) -> dict[str, object]:
    change = entry.change
    return {
        "number": entry.number,
        "call": entry.call_id,
        "prompt": entry.prompt_id,
        "made_folders": entry.made_folders,
        "root": str(change.root),
        "names": list(change.names),
        "mode": change.mode,
        "old": None if change.old is None else base64.b64encode(change.old).decode(),
        "new": None if change.new is None else base64.b64encode(change.new).decode(),
    }


def _entry(data: dict[str, object]) -> Entry:
    names, mode = data["names"], data["mode"]
    if not isinstance(names, list) or not isinstance(mode, int | None):
        raise TypeError("no change")
    change = Change(
        Path(str(data["root"])),
        tuple(str(name) for name in names),
        _bytes(data["old"]),
        _bytes(data["new"]),
        mode,
    )
    made = data["made_folders"]
    return Entry(
        int(str(data["number"])),
        str(data["call"]),
        str(data["prompt"]),
        change,
        made if isinstance(made, int) else 0,
    )


def _bytes(text: object) -> bytes | None:
    return None if text is None else base64.b64decode(str(text), validate=True)
