"""The terminal as lines: all is written in order, and nothing into a line that is being typed.

All methods but `say` belong to the main thread, where signals arrive and `readline` works.
"""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Final, TypeAlias

from ollm_tui.decode.clean import clean

ESCAPE: Final = "\x1b"
INTERRUPT: Final = "\x03"
END: Final = "\x04"
_SEQUENCE_S: Final = 0.05
"""How soon the rest of a key's escape sequence follows its first byte."""
_UTF8_LENGTHS: Final = ((0xF0, 4), (0xE0, 3), (0xC0, 2))
_NUDGE: Final = signal.SIGUSR1
_NUDGES_S: Final = (0.03, 0.2, 1.0)
"""When the line editor is woken after a signal."""
_CONTROL: Final = 3
_CHARACTERS: Final = 6

Completer: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the whole lines that a beginning may become."""


class Terminal:
    """Standard input and output of the user who reads line by line."""

    def __init__(self, redact: Callable[[str], str] = lambda text: text) -> None:
        self._redact = redact
        self._lock = threading.Lock()
        self._held: list[str] | None = None
        self._is_lost = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._line_settings = termios.tcgetattr(0)
        self._is_editing = False
        self._signal_read, self._signal_write = os.pipe()
        os.set_blocking(self._signal_write, False)
        signal.set_wakeup_fd(self._signal_write, warn_on_full_buffer=False)
        self._before = signal.signal(_NUDGE, lambda _number, _frame: None)
        threading.Thread(target=self._nudge, daemon=True).start()
        self._readline = _load_readline()

    def close(self) -> None:
        """Restore the terminal."""
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, self._line_settings)
        signal.set_wakeup_fd(-1)
        signal.signal(_NUDGE, self._before)
        os.close(self._signal_write)
        os.close(self._wake_read)
        os.close(self._wake_write)

    # Writing

    def say(self, text: str) -> None:
        """Write lines, or keep them until the line that is being typed has ended."""
        lines = clean(self._redact(text)).rstrip("\n") + "\n"
        with self._lock:
            if self._held is not None:
                self._held.append(lines)
            else:
                self._write(lines)

    def _write(self, text: str) -> None:
        data = text.encode(sys.stdout.encoding or "utf-8", "replace")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:  # the read that follows ends the program
            self._is_lost = True
            self.wake()

    def _hold(self) -> None:
        with self._lock:
            self._held = []

    def _release(self) -> None:
        with self._lock:
            held, self._held = self._held or [], None
            self._write("".join(held))

    def wake(self) -> None:
        """End a wait for a key; for any thread."""
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    # Lines

    def read_line(self, prompt: str, initial: str = "", completer: Completer | None = None) -> str:
        """Let the user edit one line; what is said meanwhile follows it.

        Raises:
            KeyboardInterrupt: Ctrl+C.
            EOFError: Ctrl+D, or the terminal is gone.
        """
        if self._is_lost:
            raise EOFError
        with self.quiet():
            self._prepare(initial, completer)
            try:
                self._is_editing = True
                return input(prompt)
            except (KeyboardInterrupt, EOFError):
                self._write("\n")
                raise
            finally:
                self._is_editing = False

    def _nudge(self) -> None:
        """Let a line end by a signal that came while its editor was busy with a key.

        The editor looks for signals only when one interrupts its wait; the one that came earlier
        would be seen with the next key.
        """
        main = threading.main_thread().ident or 0
        while numbers := os.read(self._signal_read, 64):
            for pause_s in _NUDGES_S if set(numbers) - {_NUDGE} else ():
                time.sleep(pause_s)
                if self._is_editing:
                    signal.pthread_kill(main, _NUDGE)
        os.close(self._signal_read)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Take whole lines, as a shell does; what is said meanwhile follows.

        Another program may have the terminal within this.
        """
        self._hold()
        before = termios.tcgetattr(0)
        try:
            termios.tcsetattr(0, termios.TCSANOW, self._line_settings)
            yield
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, before)
            self._release()

    def send(self, sequence: str) -> None:
        """Write a sequence for the terminal itself."""
        with self._lock:
            self._write(sequence)

    def _prepare(self, initial: str, completer: Completer | None) -> None:
        readline = self._readline
        if readline is None:
            return
        readline.set_startup_hook((lambda: readline.insert_text(initial)) if initial else None)
        matches: list[str] = []

        def complete(_text: str, number: int) -> str | None:
            if number == 0:
                matches[:] = completer(readline.get_line_buffer()) if completer else ()
            return matches[number] if number < len(matches) else None

        readline.set_completer(complete)

    def remember(self, line: str) -> None:
        """Offer a line to the Up key."""
        if self._readline is not None and line.strip():
            self._readline.add_history(line)

    # Keys

    @contextlib.contextmanager
    def keys(self) -> Iterator[None]:
        """Take single keys that are not shown, Ctrl+C among them; then all is as it was before."""
        before = termios.tcgetattr(0)
        settings = [*self._line_settings]
        settings[_CONTROL] &= ~(termios.ECHO | termios.ICANON)
        characters = [*settings[_CHARACTERS]]
        characters[termios.VINTR] = b"\0"
        characters[termios.VMIN], characters[termios.VTIME] = 1, 0
        settings[_CHARACTERS] = characters
        termios.tcsetattr(0, termios.TCSANOW, settings)
        try:
            yield
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, before)

    def key(self, within_s: float | None = None) -> str | None:
        """Wait for a key within `keys`; None for a call of `wake`, or after that time.

        A key that sends an escape sequence, such as an arrow, is an empty text.

        Raises:
            EOFError: the terminal is gone.
        """
        if self._is_lost:
            raise EOFError
        ready, _, _ = select.select([0, self._wake_read], [], [], within_s)
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 1024)
        if 0 not in ready:
            return None
        first = _read(1)
        if first == b"\x1b" and select.select([0], [], [], _SEQUENCE_S)[0]:
            _skip_sequence()
            return ""
        more = next((length for least, length in _UTF8_LENGTHS if first[0] >= least), 1) - 1
        return (first + _read(more)).decode("utf-8", "replace")

    def forget_typed(self) -> None:
        """Drop keys that were pressed and not read."""
        with contextlib.suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)


def _read(count: int) -> bytes:
    try:
        data = os.read(0, count) if count else b""
    except OSError as error:
        raise EOFError from error
    if count and not data:
        raise EOFError
    return data


def _skip_sequence() -> None:
    """Read the rest of a key's escape sequence."""
    kind = _read(1)
    deadline = time.monotonic() + _SEQUENCE_S
    while kind in {b"[", b"O"} and select.select([0], [], [], deadline - time.monotonic())[0]:
        if 0x40 <= _read(1)[0] <= 0x7E:
            return


def _load_readline() -> ModuleType | None:
    try:
        # A line editor that people know; some builds of Python lack it.
        import readline
    except ImportError:
        return None
    readline.set_auto_history(False)
    readline.set_completer_delims("")
    readline.parse_and_bind("tab: complete")
    return readline
