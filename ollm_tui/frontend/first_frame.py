"""The first frame of an earlier start, shown while the app that draws it is loaded.

Loading the app takes several times as long as showing what it will draw. What is typed meanwhile
is shown in the prompt of the picture and handed to the app. Loads nothing but what Python itself
has loaded by then.
"""

import array
import fcntl
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NamedTuple

from ollm_tui import __version__

FILE_NAME: Final = "first-frame"
MAX_BYTES: Final = 256 * 1024
_CONDITIONS: Final = (
    *("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL"),
    *("TEXTUAL_COLOR_SYSTEM", "TEXTUAL_THEME", "COLORFGBG"),
)
"""Variables that the look of the app depends on."""
_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?1049l\x1b[?25h"
_INSIDE_A_SENTENCE: Final = frozenset(" ,.;:!?'\"()-")
_ECHO_S: Final = 0.5
"""How long writing to a slow terminal is waited for."""
_EXITS: Final = (signal.SIGTERM, signal.SIGHUP)


class Picture(NamedTuple):
    """What the app drew first, and where it writes what is typed."""

    drawn: str
    """All cells of the screen, with the sequences that place and colour them."""
    row: int
    """Of the prompt's first character, from 1."""
    column: int
    width: int
    """Cells of the prompt's line."""
    text: str
    """The sequence for the colours of what is typed."""
    cursor: str
    """The one for the cursor behind it."""


class TypedAhead(NamedTuple):
    """What was typed before the app took the terminal."""

    text: str
    """What the picture's prompt shows."""
    keys: bytes
    """What was typed behind it."""
    attributes: list  # type: ignore[type-arg]  # as `termios` has it
    """How the terminal was before."""


class _Shown(NamedTuple):
    """A picture on the screen, and who reads what is typed meanwhile."""

    picture: Picture
    before: list  # type: ignore[type-arg]  # as `termios` has it
    lines_ahead: int
    """Bytes of whole lines that were typed before."""
    end_read: int
    end: int
    reader: threading.Thread


def conditions(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Return what the first frame depends on, in one line.

    None if no picture is used, as with variables of settings, whose values are not kept.
    """
    if any(name.startswith("OLLM_") or name == "TEXTUAL_DRIVER" for name in environment):
        return None
    output = sys.__stderr__  # which the app draws to
    if output is None or output.encoding.lower() not in ("utf-8", "utf8"):
        return None
    try:
        columns, rows = os.get_terminal_size(2)
        file = f"{_folder(environment, 'CONFIG')}/config.toml"
        settings = os.stat(file)  # noqa: PTH116 -- loading `pathlib` takes longer than all of this
    except FileNotFoundError:
        stamp = "no settings"
    except (OSError, ValueError):
        return None
    else:
        stamp = f"{settings.st_mtime_ns} {settings.st_size}"
    values = [environment.get(name, "-") for name in _CONDITIONS]
    known = [__version__, f"{columns}x{rows}", stamp, *values, *arguments]
    return "\x1f".join(known).replace("\n", " ")


def _folder(environment: Mapping[str, str], kind: str) -> str:
    """Return the app's folder for its settings or its state, as `default_paths` does.

    Raises:
        ValueError: there is none.
    """
    home = environment.get("HOME", "")
    if sys.platform == "darwin":
        usual = f"{home}/Library/Application Support"
    else:
        usual = f"{home}/.config" if kind == "CONFIG" else f"{home}/.local/state"
    chosen = environment.get(f"XDG_{kind}_HOME", "").strip()
    folder = chosen if chosen.startswith("/") else usual
    if folder is usual and not home.startswith("/"):
        raise ValueError(kind)
    return f"{folder}/ollm"


def to_bytes(known: str, picture: Picture) -> bytes:
    """Return the file that shows a picture where the conditions are the same."""
    place = f"{picture.row} {picture.column} {picture.width}"
    lines = known, place, picture.text, picture.cursor, picture.drawn
    return "\n".join(lines).encode("utf-8", "surrogatepass")  # an option may be of any bytes


def _from_bytes(data: bytes, known: str) -> Picture | None:
    try:
        saved, place, text, cursor, drawn = data.decode("utf-8", "surrogatepass").split("\n", 4)
        row, column, width = map(int, place.split())
    except ValueError:
        return None
    return Picture(drawn, row, column, width, text, cursor) if saved == known else None


def saved_picture(known: str, environment: Mapping[str, str]) -> Picture | None:
    """Return the picture of an earlier start under the same conditions, if there is one.

    A file that others may write is not shown: the terminal obeys what is in it.
    """
    try:
        path = f"{_folder(environment, 'STATE')}/{FILE_NAME}"
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(descriptor)
            is_own = facts.st_uid == os.getuid() and facts.st_mode & 0o177022 == 0o100000
            if not is_own or facts.st_size > MAX_BYTES:
                return None
            return _from_bytes(os.read(descriptor, MAX_BYTES), known)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None


class FirstFrame:
    """The terminal until the app takes it: shows a picture, and keeps what is typed.

    `known` is the `conditions` of this start, if a picture of it may be kept.
    """

    def __init__(self, known: str | None = None) -> None:
        self.known = known
        self._shown = ""
        self._typed = bytearray()
        self._shows: _Shown | None = None

    @property
    def before(self) -> list | None:  # type: ignore[type-arg]  # as `termios` has it
        """How the terminal was before a picture was shown; None if none is."""
        return None if self._shows is None else self._shows.before

    def show_saved(self, environment: Mapping[str, str]) -> None:
        """Show the frame of an earlier start, if it is the one that the app will draw."""
        picture = None if self.known is None else saved_picture(self.known, environment)
        if picture is not None:
            with suppress(OSError, termios.error):
                self.show(picture)

    def show(self, picture: Picture) -> None:
        """Show a picture, and read what is typed.

        Raises:
            OSError: there is no terminal, or it belongs to another program now.
            termios.error: likewise.
        """
        if os.tcgetpgrp(0) != os.getpgrp() or not (os.isatty(1) and os.isatty(2)):
            raise OSError("not in the foreground")
        before = termios.tcgetattr(0)
        reader = threading.Thread(target=self._read, name="first-frame", daemon=True)
        self._shows = _Shown(picture, before, _waiting_bytes(), *os.pipe(), reader)
        try:
            for number in _EXITS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end_by_signal)
            termios.tcsetattr(0, termios.TCSANOW, _without_lines(before))
            _write(_OPEN + picture.drawn)
            with _without_signals():  # which the thread leaves to this one for good
                reader.start()
        except BaseException:
            self.close()
            raise

    def take(self) -> TypedAhead | None:
        """Read and show no more: the terminal belongs to the caller; None if nothing is shown."""
        shows = self._stop()
        if shows is None:
            return None
        keys = bytes(self._typed)[len(self._shown.encode()) :]
        return TypedAhead(self._shown, keys, shows.before)

    def close(self) -> None:
        """Give the terminal back as it was, unless it was taken."""
        # A signal in the midst of it would find nothing to do, and end the program.
        with _without_signals():
            shows = self._stop()
            if shows is not None:
                _write(_CLOSE)
                with suppress(termios.error):  # the terminal is gone
                    termios.tcsetattr(0, termios.TCSANOW, shows.before)

    def _stop(self) -> "_Shown | None":
        shows, self._shows = self._shows, None
        if shows is not None:
            os.write(shows.end, b"x")
            if shows.reader.is_alive():  # Ctrl+C may come before it was started
                shows.reader.join(_ECHO_S)
            if not shows.reader.is_alive():
                os.close(shows.end)
                os.close(shows.end_read)
        return shows

    def _end_by_signal(self, number: int, _frame: FrameType | None) -> None:
        self.close()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _read(self) -> None:
        shows = self._shows
        while shows is not None:
            ready, _, _ = select.select([0, shows.end_read], [], [])
            if shows.end_read in ready:
                return
            try:
                data = os.read(0, 4096)
            except OSError:
                return
            if not data:
                return
            ahead = max(0, shows.lines_ahead - len(self._typed))
            # the terminal had turned the Enter keys of these lines into line feeds
            self._typed += data[:ahead].replace(b"\n", b"\r") + data[ahead:]
            self._echo(shows.picture)

    def _echo(self, place: Picture) -> None:
        text = _plain_start(bytes(self._typed).decode("utf-8", "replace"), place.width - 2)
        if text != self._shown:
            self._shown = text
            rest = " " * (place.width - len(text) - 1)
            _write(
                f"\x1b[{place.row};{place.column}H{place.text}{text}"
                f"{place.cursor} \x1b[0m{place.text}{rest}\x1b[0m"
            )


@contextmanager
def _without_signals() -> Iterator[None]:
    """Have signals that end the program wait."""
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, [*_EXITS, signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def _plain_start(typed: str, most: int) -> str:
    """Return the beginning of what was typed that does nothing but appear in the prompt.

    Each character takes one cell. A key such as Backspace, and a first character that may begin a
    command, are left to the app with all that follows.
    """
    for place, character in enumerate(typed[:most]):
        is_letter = character.isalnum() and character < "\u0250"
        if not (is_letter or (place and character in _INSIDE_A_SENTENCE)):
            return typed[:place]
    return typed[:most]


def _without_lines(attributes: list) -> list:  # type: ignore[type-arg]  # as `termios` has it
    """Return attributes that pass each key on at once, unseen; Ctrl+C still ends the program."""
    in_flags, out_flags, control, local_flags, *speeds, characters = attributes
    in_flags &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
    local_flags &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    characters = list(characters)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    disabled = bytes([os.fpathconf(0, "PC_VDISABLE")])
    for key in (termios.VSUSP, termios.VQUIT):
        characters[key] = disabled
    return [in_flags, out_flags, control, local_flags, *speeds, characters]


def _waiting_bytes() -> int:
    """Return how many bytes of whole lines were typed and not read."""
    waiting = array.array("i", [0])
    fcntl.ioctl(0, termios.FIONREAD, waiting)
    return waiting[0]


def _write(text: str) -> None:
    data = text.encode("utf-8", "replace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        return  # the terminal is gone, which its next reader finds out
