"""Notes that last over chats: a line each, in a private file of the program."""

import re
from pathlib import Path
from typing import Final

import anyio.to_thread

from ollm_tui.config.private_file import folder_lock, write_private
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_NOTES: Final = 100
MAX_NOTE_LENGTH: Final = 500
"""Characters."""
_MAX_BYTES: Final = 400_000
_LOCK_S: Final = 5.0
_HEAD: Final = "Notes that the user keeps for all chats:"
_SECTION: Final = lazy_re(rf"\n*<notes>\n{_HEAD}\n.*?\n</notes>", re.DOTALL)
"""With its first line: the user may have notes of their own in a system prompt."""
_END: Final = lazy_re(r"</?notes>")

Notes = tuple[str, ...]


@dataclass(slots=True)
class LastingNotes:
    """The notes, as they were read last, and whether new chats get them."""

    file: Path | None = None
    """Where they are; None is nowhere yet."""
    is_on: bool = False
    """Whether new chats get them in their system prompt."""
    is_private: bool = False
    """Whether the open chat is private: then no tool changes them."""
    known: Notes = ()
    """What was read last."""
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    def at(self, file: Path) -> "LastingNotes":
        """Keep them in a file from now on."""
        self.file = file
        return self

    async def read(self) -> Notes:
        """Read the notes.

        Raises:
            AIError: the file cannot be read.
        """
        self.known = await anyio.to_thread.run_sync(self._read)
        return self.known

    async def change(self, before: Notes, after: Notes) -> None:
        """Put notes in the place of those that were shown.

        Raises:
            AIError: they have changed since, there are too many, or the file cannot be written.
        """
        if len(after) > MAX_NOTES:
            raise _refusal(f"There are at most {MAX_NOTES} notes.", "/memory rm N removes one.")
        async with self._lock:
            await anyio.to_thread.run_sync(self._write, before, after)
        self.known = after

    def _read(self) -> Notes:
        if self.file is None:
            return ()
        try:
            text = read_bounded(self.file, _MAX_BYTES).decode("utf-8")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise _refusal(
                f"{self.file} cannot be read: {why_unreadable(error)}.",
                "Correct or remove the file.",
            ) from error
        return tuple(filter(None, map(one_line, text.splitlines())))[:MAX_NOTES]

    def _write(self, before: Notes, after: Notes) -> None:
        if self.file is None:
            raise _refusal("Notes cannot be kept here.")
        try:
            with folder_lock(self.file.parent, within_s=_LOCK_S):
                if self._read() != before:
                    raise _refusal("The notes have changed since.", "/memory lists them.")
                write_private(self.file, "".join(f"{one}\n" for one in after).encode())
        except OSError as error:
            raise _refusal(f"{self.file} cannot be written: {why_unreadable(error)}.") from error

    def text(self) -> str:
        """Return what a system prompt is given; empty without notes."""
        rows = [f"{at}. {_END.sub('', one)}" for at, one in enumerate(self.known, 1)]
        return "\n".join([_HEAD, *rows]) if rows else ""

    def put_into(self, system_prompt: str | None) -> str | None:
        """Return a system prompt with the notes at its end, in the place of older ones."""
        before, text = without_notes(system_prompt), self.text()
        if not text:
            return before
        section = f"<notes>\n{text}\n</notes>"
        return f"{before}\n\n{section}" if before else section


def has_notes(system_prompt: str | None) -> bool:
    """Whether a system prompt has notes."""
    return _SECTION.search(system_prompt or "") is not None


def without_notes(system_prompt: str | None) -> str | None:
    """Return a system prompt without notes."""
    if not has_notes(system_prompt):
        return system_prompt
    return _SECTION.sub("", system_prompt or "").strip("\n") or None


def one_line(text: str) -> str:
    """Return a note as it is kept: one line without control characters, of bounded length."""
    return clean_line(" ".join(text.split())).strip()[:MAX_NOTE_LENGTH]


def with_added(notes: Notes, text: str) -> Notes:
    """Return notes with one more; raises as `checked_note`."""
    return (*notes, checked_note(text))


def with_replaced(notes: Notes, number: int, text: str | None) -> Notes:
    """Return notes with another text for one of them; None removes it.

    Raises:
        AIError: there is none of that number, or the text cannot be kept.
    """
    if not 1 <= number <= len(notes):
        raise _refusal(f"There is no note {number}.", "/memory lists them.")
    middle: Notes = () if text is None else (checked_note(text),)
    return (*notes[: number - 1], *middle, *notes[number:])


def checked_note(text: str) -> str:
    """Return the text of a note as it is kept.

    Raises:
        AIError: it is empty or too long.
    """
    if not one_line(text) or len(" ".join(text.split())) > MAX_NOTE_LENGTH:
        raise _refusal(f"A note has 1 to {MAX_NOTE_LENGTH} characters.")
    return one_line(text)


def _refusal(sentence: str, hint: str | None = None) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence, hint=hint)
