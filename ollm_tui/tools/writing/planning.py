"""From what a model wants of a file to the bytes that would be written; changes nothing."""

from pathlib import Path
from typing import Final

from ollm_tui.decode.counted import counted
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.builtin.root import Place, place_in_root
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.writing.patches import patched
from ollm_tui.tools.writing.protected import is_protected
from ollm_tui.tools.writing.replacing import MAX_BYTES, Change, read_place

_MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""


class Plan:
    """A change of one file that was not made yet."""

    def __init__(self, change: Change, made_folders: int, *, is_protected: bool) -> None:
        self.change = change
        self.made_folders = made_folders
        """Folders that are made with the file."""
        self.is_protected = is_protected
        """Whether the file can run something, or change what runs."""


class Planner:
    """Plans changes below one root."""

    def __init__(self, root: Path, guard: FileGuard) -> None:
        self._root = root
        self._guard = guard

    def write(self, path: str, content: str) -> Plan:
        """Plan a whole new content; an existing file keeps its kind of line ends.

        Raises:
            ToolFailure: the file cannot be written so; the same below.
        """
        with place_in_root(self._root, path, self._guard) as place:
            old, mode = read_place(place)
            text = content.replace("\r\n", "\n")
            kind = _FileKind(old) if old is not None and _is_text(old) else None
            return self._plan(place, old, mode, (kind or _FileKind(b"")).encoded(text))

    def edit(self, path: str, old_text: str, new_text: str, *, replace_all: bool) -> Plan:
        """Plan to replace a text, which has to be there exactly once unless all are meant."""
        if not old_text:
            raise ToolFailure("old_text is empty. Use write_file for a new file.")
        if old_text == new_text:
            raise ToolFailure("old_text and new_text are the same.")
        with place_in_root(self._root, path, self._guard) as place:
            old, mode = self._existing(place)
            kind = _FileKind(old)
            wanted, given = (text.replace("\r\n", "\n") for text in (old_text, new_text))
            count = kind.text.count(wanted)
            if not count:
                raise ToolFailure(
                    f"{place.shown} does not contain old_text. Read it again, and copy it exactly, "
                    "with its spaces."
                )
            if count > 1 and not replace_all:
                raise ToolFailure(
                    f"{place.shown} contains old_text {counted(count, 'time')}. Give more lines "
                    "around it, or set replace_all."
                )
            return self._plan(place, old, mode, kind.encoded(kind.text.replace(wanted, given)))

    def patch(self, path: str, patch: str) -> Plan:
        """Plan what a unified diff says."""
        with place_in_root(self._root, path, self._guard) as place:
            old, mode = read_place(place)
            kind = _FileKind(old or b"")
            if old is not None:
                self._require_text(place, old)
            return self._plan(place, old, mode, kind.encoded(patched(kind.text, patch)))

    def _existing(self, place: Place) -> tuple[bytes, int | None]:
        old, mode = read_place(place)
        if old is None:
            raise ToolFailure(f"{place.shown} does not exist. Use write_file for a new file.")
        self._require_text(place, old)
        return old, mode

    @staticmethod
    def _require_text(place: Place, content: bytes) -> None:
        if not _is_text(content):
            raise ToolFailure(f"{place.shown} is not UTF-8 text, so it cannot be edited.")

    def _plan(self, place: Place, old: bytes | None, mode: int | None, new: bytes) -> Plan:
        if len(new) > MAX_BYTES:
            raise ToolFailure(f"{place.shown} would be larger than 1 MB. Write less at once.")
        if b"\0" in new:
            raise ToolFailure("A text cannot hold the character NUL.")
        if not place.name.isprintable() or not all(name.isprintable() for name in place.missing):
            raise ToolFailure(f"{place.shown} has invisible characters in its name.")
        if new == old:
            raise ToolFailure(f"{place.shown} already has exactly this content.")
        change = Change(self._root, place.names, old, new, mode)
        names = (*self._root.parts[1:], *place.names)
        return Plan(change, len(place.missing), is_protected=is_protected(names))


class _FileKind:
    """The text of a file, with line feeds, and what its bytes have beside it."""

    def __init__(self, content: bytes) -> None:
        self._has_mark = content.startswith(_MARK)
        text = content.removeprefix(_MARK).decode("utf-8", "replace")
        feeds, pairs = text.count("\n"), text.count("\r\n")
        self._ends_lines_with_returns = bool(feeds) and feeds == pairs
        self.text = text.replace("\r\n", "\n") if self._ends_lines_with_returns else text

    def encoded(self, text: str) -> bytes:
        """Return a text as bytes of this kind."""
        if self._ends_lines_with_returns:
            text = text.replace("\n", "\r\n")
        try:
            return (_MARK if self._has_mark else b"") + text.encode()
        except UnicodeEncodeError:
            raise ToolFailure("The text has characters that no file can hold.") from None


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False
