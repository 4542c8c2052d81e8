"""Drafts that are kept: each chat has its own, in a private file, so that none is lost in a crash.

A chat that was never saved has no id. Its draft is in a file that belongs to this program, and the
next one that starts takes it over once this one has ended.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.to_thread import run_sync

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import open_lock, try_lock, write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.images import ImageData
from ollm_tui.lazy import lazy_re
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.composer.draft_files import (
    AttachedFiles,
    OwnFiles,
    read_again,
    without_files,
)
from ollm_tui.tui.dialogs import Dialogs

NEW: Final = "new"
"""The key of a chat that has no id yet."""
LOOK_EVERY_S: Final = 0.5
MAX_BYTES: Final = 1_000_000
"""A longer draft is not kept."""
MAX_KEPT: Final = 500
"""Further drafts, the oldest ones, are removed."""
MAX_FILE_BYTES: Final = 200_000_000
"""Files beside all drafts together; the oldest ones are removed."""
_MAX_OWN_BYTES: Final = 50_000_000
_FILE: Final = ".file"
_ID: Final = lazy_re(r"[0-9A-Za-z-]{1,64}")
_log: Final = logging.getLogger(__name__)


class DraftFolder:
    """Drafts in files; every method blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = f"{NEW}-{os.urandom(8).hex()}"
        self._lock: int | None = None
        self._writing = threading.Lock()
        self._is_finished = False
        self._with_files: set[str] = set()
        """The names of drafts that may have files beside them."""

    def read(self, key: str) -> str:
        """Return the draft of a chat; empty if there is none."""
        return self._read(self._path(key)) if _ID.fullmatch(key) else ""

    def read_own(self, key: str, name: str) -> bytes:
        """Return a file beside the draft of a chat; empty if it is not there any more."""
        try:
            return read_bounded(_beside(self._path(key), name), _MAX_OWN_BYTES)
        except (OSError, ValueError):
            return b""

    def write(self, key: str, text: str, files: OwnFiles | None = None) -> None:
        """Keep the draft of a chat with the files beside it; an empty one is removed.

        Raises:
            OSError: it cannot be written.
        """
        with self._writing:
            if not self._is_finished:
                self._write(key, text, files or {})

    def finish(self, drafts: Mapping[str, tuple[str, OwnFiles]]) -> None:
        """Keep the last drafts of this program; a write that comes later is too old to count.

        Raises:
            OSError: one cannot be written.
        """
        with self._writing:
            self._is_finished = True
            for key, (text, files) in drafts.items():
                self._write(key, text, files)

    def _write(self, key: str, text: str, files: OwnFiles) -> None:
        path, data = self._path(key), text.encode("utf-8", "replace")
        if not text.strip() or len(data) > MAX_BYTES:
            path.unlink(missing_ok=True)
            self._keep_files(path, {})
            if key == NEW and self._lock is not None:
                path.with_suffix(".lock").unlink(missing_ok=True)
                self.close()
            return
        if key == NEW and self._lock is None:
            private_folder(self._folder)
            self._lock = open_lock(path.with_suffix(".lock"))
            try_lock(self._lock)
        self._keep_files(path, files)
        write_private(path, data, lasting=False)

    def _keep_files(self, path: Path, files: OwnFiles) -> None:
        """Write the files beside a draft, before it, and remove those that it has no longer."""
        if not files and path.stem not in self._with_files:
            return
        self._with_files.add(path.stem)
        there = set(_all_beside(path))
        for name, data in files.items():
            file = _beside(path, name)
            if file not in there:
                write_private(file, ImageData(data).whole(), lasting=False)
        for file in there - {_beside(path, name) for name in files}:
            file.unlink(missing_ok=True)
        self._limit_files()

    def _limit_files(self) -> None:
        left = MAX_FILE_BYTES
        stats = ((file.lstat(), file) for file in self._folder.glob(f"*{_FILE}"))
        for stat, file in sorted(stats, key=lambda one: one[0].st_mtime, reverse=True):
            left -= stat.st_size
            if left < 0:
                file.unlink(missing_ok=True)

    def adopt(self) -> str:
        """Take over the newest draft of a new chat whose program has ended; remove the oldest."""
        drafts: list[tuple[float, Path]] = []
        with suppress(OSError):
            drafts = sorted(
                ((path.lstat().st_mtime, path) for path in self._folder.glob("*.md")), reverse=True
            )
            for _changed, path in drafts[MAX_KEPT:]:
                path.unlink(missing_ok=True)
                for file in _all_beside(path):
                    file.unlink(missing_ok=True)
        left = (path for _changed, path in drafts[:MAX_KEPT] if self._is_of_another(path))
        texts = (self._taken(path) for path in left)
        return next(filter(None, texts), "")

    def close(self) -> None:
        """Let the next program have the draft of a chat that was never saved."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _is_of_another(self, path: Path) -> bool:
        return path.stem.startswith(f"{NEW}-") and path.stem != self._own

    def _taken(self, path: Path) -> str:
        """Make a draft this program's own; empty if its program still runs."""
        lock = path.with_suffix(".lock")
        with suppress(OSError):
            descriptor = open_lock(lock)
            try:
                if not try_lock(descriptor):
                    return ""
                text = self._read(path)
                self.write(NEW, text)
                for file in _all_beside(path):
                    file.replace(file.with_name(f"{self._own}{file.name[len(path.stem) :]}"))
                path.unlink(missing_ok=True)
                lock.unlink(missing_ok=True)
                return text
            finally:
                os.close(descriptor)
        return ""

    def _path(self, key: str) -> Path:
        if key != NEW and _ID.fullmatch(key) is None:
            raise OSError("the id of the chat is no name of a file")
        return self._folder / f"{self._own if key == NEW else key}.md"

    def _read(self, path: Path) -> str:
        self._with_files.update((path.stem, self._own))  # there may be some of another run
        try:
            return read_bounded(path, MAX_BYTES).decode("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            _log.warning("The draft %s cannot be read: %s", path, type(error).__name__)
            return ""


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}{_FILE}")


def _all_beside(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.stem}.*{_FILE}"))


@dataclass(slots=True)
class DraftKeeper:
    """Saves the draft of the open chat while it is written, and brings it back with its chat."""

    composer: Composer
    dialogs: Dialogs
    folder: DraftFolder | None
    chat: Callable[[], str | None]
    """Returns the id of the open chat, `NEW` before it has one, or None if it keeps nothing."""
    restored: Callable[[Sequence[str]], None] = lambda _missing: None
    """Called when a draft came back from a file, with the names of files that are missing."""
    _saved: tuple[str | None, str] = (None, "")
    _left: dict[str, str] = field(default_factory=dict)
    """The drafts of chats that were left, with their tokens."""
    _files: AttachedFiles = field(init=False)
    _file: anyio.Lock = field(default_factory=anyio.Lock)
    """Reads and writes come in the order in which they were asked for."""
    _is_saving: bool = False
    _visit: int = 0
    """Counts the chats that were opened: a draft that is read too late is not for this one."""
    _has_arrived: bool = False
    """Whether the draft of the open chat was read, so that what the input holds is all of it."""

    def __post_init__(self) -> None:
        self._files = AttachedFiles(self.composer.pictures)

    def start(self) -> None:
        """Bring the draft of the open chat back, and look at the input until the app ends."""
        if self.folder is not None:
            self.dialogs.run(self._keep(self.folder), "drafts")

    async def _keep(self, folder: DraftFolder) -> None:
        try:
            await self._restore(folder)
            while True:
                await anyio.sleep(LOOK_EVERY_S)
                self.look()
        finally:
            self._finish(folder)

    def _finish(self, folder: DraftFolder) -> None:
        """Write what the input holds as the app ends, at once: what was sent is no draft."""
        wanted = self._wanted()
        if self._has_arrived and (self._is_saving or wanted != self._saved):
            drafts = {wanted[0]: (wanted[1], self._own())} if wanted[0] is not None else {}
            try:
                folder.finish(dict.fromkeys(self._passed_by(wanted), ("", {})) | drafts)
            except OSError as error:
                _warn(error)

    def change(self, go: Callable[[], None]) -> None:
        """Go to another chat: its draft comes into the input, and that of this one is kept."""
        self._leave()
        go()
        self._arrive()

    def _leave(self) -> None:
        key = self.chat()
        if self.folder is None:
            return
        for before in self._passed_by((key, "")):
            self.dialogs.run(self._write_draft(before, "", {}), "draft")
            self._saved = (None, "")
        if key is None or not self._has_arrived:
            # nothing of it is written down, or not over what is not read yet; Up brings it back
            self.composer.stash()
            return
        # also an empty one: what was sent is still in the file if it was saved a moment ago
        text, own = self._kept_text(has_beside=False), self._own(has_beside=False)
        self.dialogs.run(self._write_draft(key, text, own), "draft")
        self._saved = (None, "")
        if draft := self.composer.draft:
            self._left[key] = draft
            self.composer.load_draft("")

    def _arrive(self) -> None:
        self._visit += 1
        self._has_arrived = False
        key = self.chat()
        if self.folder is not None and key is not None and key not in self._left:
            self.dialogs.run(self._restore(self.folder), "draft")
            return
        self._has_arrived = True
        if key is not None and (draft := self._left.pop(key, None)) is not None:
            self.composer.prepend(draft)

    def look(self) -> None:
        """Save the draft if it has changed since it was saved."""
        if self._has_arrived and not self._is_saving and self._wanted() != self._saved:
            self.dialogs.run(self._save(), "draft")

    async def _restore(self, folder: DraftFolder) -> None:
        key, visit, kept = self.chat(), self._visit, ""
        if key is not None:
            async with self._file:
                kept = await run_sync(folder.adopt if key == NEW else lambda: folder.read(key))
        text, listed = without_files(kept)
        files = await read_again(listed, lambda name: folder.read_own(key or NEW, name))
        if visit != self._visit:
            return
        self._has_arrived = True
        if kept and key == self.chat():
            text, missing = self._files.put_back(text, files)
            self.composer.prepend(text)
            self.composer.look_at_pictures()
            self.restored(missing)

    def _wanted(self) -> tuple[str | None, str]:
        key = self.chat()
        return (key, self._kept_text() if key is not None else "")

    def _kept_text(self, *, has_beside: bool = True) -> str:
        if not self.composer.text and not self.composer.pictures:
            return ""
        draft, value = self.composer.draft, self.composer.value
        return self._files.kept(draft, value, has_beside=has_beside)

    def _own(self, *, has_beside: bool = True) -> OwnFiles:
        return self._files.own(self.composer.draft, has_beside=has_beside)

    def _passed_by(self, wanted: tuple[str | None, str]) -> list[str]:
        """Return the chat whose saved draft went on into the open one, if there is one."""
        before = self._saved[0]
        is_gone = before is not None and before != wanted[0] and before not in self._left
        return [before] if before is not None and is_gone else []

    async def _save(self) -> None:
        # It stays set when this is cancelled, as the app ends: `_finish` has to write then.
        self._is_saving = True
        while (wanted := self._wanted()) != self._saved:
            passed_by, own, self._saved = self._passed_by(wanted), self._own(), wanted
            for key in passed_by:
                await self._write_draft(key, "", {})
            await self._write_draft(*wanted, own)
        self._is_saving = False

    async def _write_draft(self, key: str | None, text: str, files: OwnFiles) -> None:
        if self.folder is None or key is None:
            return
        try:
            async with self._file:
                await run_sync(self.folder.write, key, text, files)
        except OSError as error:
            _warn(error)


def _warn(error: OSError) -> None:
    _log.warning("The draft cannot be saved: %s", error.strerror or type(error).__name__)
