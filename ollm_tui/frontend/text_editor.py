"""A text in the user's own editor: written to a private file, edited, and read again."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from anyio.to_thread import run_sync

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import TooLongError, is_there, read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.editor_command import EditorCommand, NoEditorError, editor_command
from ollm_tui.frontend.notes import SayWithHint

MAX_BYTES: Final = 1_000_000
AT_ONCE_S: Final = 0.5
"""An editor that ends so soon has opened a window and did not wait for it."""
_FILE: Final = "message.md"

Run = Callable[[Sequence[str], Mapping[str, str], str], Awaitable[int]]
"""Runs a program on the terminal and returns its exit code: see `run_in_terminal`."""


class EditFailedError(Exception):
    """The edited text cannot be used; the message says why, and where it is."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What an editor left behind."""

    text: str | None
    """The text, or None if it is as it was."""
    problem: str = ""
    """Why the text is not used: the editor failed or was killed."""


@dataclass(slots=True)
class TextEditor:
    """Opens one editor at a time, on a terminal that it is lent."""

    say: SayWithHint
    run: Run
    can_run: Callable[[], bool]
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _is_open: bool = False

    async def edited(self, text: str) -> Edited | None:
        """Open the editor with a text and return what it left; None, and a note, if it cannot."""
        try:
            command = self._command()
            return await self._in_file(command, text)
        except (NoEditorError, EditFailedError) as error:
            self.say(str(error), "error")
            return None

    def _command(self) -> EditorCommand:
        if self._is_open:
            raise NoEditorError("The editor is open already.")
        if not self.can_run():
            raise NoEditorError("An editor needs a terminal, which ollm does not have here.")
        return editor_command(self.environ)

    async def _in_file(self, command: EditorCommand, text: str) -> Edited:
        self._is_open = True
        folder = await run_sync(partial(tempfile.mkdtemp, prefix="ollm-"))
        path, is_kept = Path(folder) / _FILE, False
        try:
            await run_sync(partial(write_private, path, _written(text), lasting=False))
            began = time.monotonic()
            code = await self._started(command, path)
            took = time.monotonic() - began
            try:
                after = await run_sync(partial(_read, path))
            except EditFailedError:
                is_kept = is_there(path)
                raise
            return self._judged(command, code, took, None if after == text else after)
        except OSError as error:
            raise EditFailedError(f"The editor cannot be used: {why_unreadable(error)}.") from error
        finally:
            self._is_open = False
            if not is_kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def _started(self, command: EditorCommand, path: Path) -> int:
        notice = f"Waiting for {command.name}. Ctrl+C ends it."
        try:
            return await self.run((*command.words, str(path)), self.environ, notice)
        except OSError as error:
            why = why_unreadable(error)
            raise EditFailedError(f"{command.name} could not be started: {why}.") from error

    def _judged(self, command: EditorCommand, code: int, took: float, text: str | None) -> Edited:
        if code == 0:
            if text is None and took < AT_ONCE_S and not command.has_window:
                hint = 'If it opens a window, EDITOR needs its option to wait: EDITOR="NAME --wait"'
                self.say(f"{command.name} ended at once without changes.", hint=hint)
            return Edited(text)
        how = f"ended with exit code {code}"
        if code < 0:
            how = f"was ended by {_signal_name(-code)}"
        if text is None:
            self.say(f"{command.name} {how}. The draft is as it was.", "warning")
            return Edited(None)
        return Edited(text, f"{command.name} {how}, so its text was not taken.")


def _written(text: str) -> bytes:
    # Editors end the last line; one that is ended already does not look changed.
    return f"{text}\n".encode("utf-8", "replace") if text else b""


def _read(path: Path) -> str:
    """Read what the editor saved, without the line end of its last line.

    Raises:
        EditFailedError: it is too long, no text, or gone.
    """
    try:
        data = read_bounded(path, MAX_BYTES)
        text = data.decode("utf-8-sig")
    except TooLongError:
        limit = f"{MAX_BYTES // 1_000_000} MB"
        raise EditFailedError(
            f"The edited text is longer than {limit}. The draft is as it was. "
            f"The text is kept in {path}."
        ) from None
    except UnicodeDecodeError:
        raise EditFailedError(
            f"The edited text is not UTF-8. The draft is as it was. The text is kept in {path}."
        ) from None
    except OSError as error:
        why = why_unreadable(error)
        raise EditFailedError(
            f"The edited text cannot be read: {why}. The draft is as it was."
        ) from None
    return text.replace("\r\n", "\n").removesuffix("\n")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
