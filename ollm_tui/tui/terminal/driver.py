"""Textual's Linux and macOS driver, made to survive the terminal."""

import array
import contextlib
import errno
import fcntl
import io
import logging
import os
import re
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from textual import constants, events
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.graphics import CellSize, TerminalPictures, cell_size
from ollm_tui.tui.terminal.keyboard import KEY_PROTOCOL, Keyboard, TerminalReport, is_inside

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from textual.app import App
    from textual.message import Message

    from ollm_tui.frontend.first_frame import FirstFrame

logger = logging.getLogger(__name__)

READ_SIZE: Final = 64 * 1024
TITLE_LENGTH: Final = 80
_OTHER_SCREEN: Final = "\x1b[?1049h"
_SAVE_TITLE: Final = "\x1b[22;2t"
_RESTORE_TITLE: Final = "\x1b[23;2t"
_GONE: Final = frozenset({errno.EIO, errno.EPIPE, errno.ENXIO, errno.EBADF, errno.ENODEV})


class TerminalDriver(LinuxDriver):
    """Reads keys without polling, writes without failing, and ends the app with its terminal."""

    def __init__(
        self, app: "App[Any]", first_frame: "FirstFrame | None" = None, **options: Any
    ) -> None:
        super().__init__(app, **options)
        self._first_frame = first_frame
        self.typed_text = ""
        """What was typed into the picture of an earlier start, before the app was loaded."""
        self._unread = b""
        self._keeps_screen = False
        self.exit_event = self._wake = _WakingEvent()
        self._is_lost = False
        self._has_title = False
        self._is_lent = False
        self._reclaim: Callable[[], None] | None = None
        self._typed_ahead = 0
        self.pictures = TerminalPictures(self.write, self._measure_cell, self._draw_again)
        if self._file is not None:
            encoding = self._file.encoding
            self._file = open_output(
                self._file.fileno(), encoding, self._lose_terminal, self._drawn
            )

    def run_input_thread(self) -> None:
        """Read until stopped, sleeping in the kernel unless a sequence is unfinished."""
        keyboard = Keyboard(self._debug, is_slow_line=is_slow_line(self.fileno, os.environ))
        unread, self._unread = self._unread, b""
        for message in keyboard.feed(unread, time.monotonic()):
            self.process_message(message)
        while not self.exit_event.is_set():
            deadline = keyboard.deadline
            patience = None if deadline is None else max(0.0, deadline - time.monotonic())
            inputs = (self.fileno, self._wake.fileno())
            has_waited = not select.select(inputs, (), (), 0)[0]
            ready = select.select(inputs, (), (), patience)[0]
            has_more = self.fileno in ready
            messages = keyboard.tick(time.monotonic(), has_more=has_more)
            if has_more:
                try:
                    data = os.read(self.fileno, READ_SIZE)
                except BlockingIOError:
                    # a program that shared the terminal left it non-blocking
                    continue
                if not data:
                    raise OSError(errno.EIO, "end of input")
                data = self._with_enter_keys(data)
                messages += keyboard.feed(data, time.monotonic(), has_waited=has_waited)
            for message in messages:
                self.process_message(message)

    def _with_enter_keys(self, data: bytes) -> bytes:
        """Restore the Enter keys that were pressed before the terminal was taken.

        Until then the terminal turns each into a line feed, which is what Ctrl+J sends.
        """
        ahead, self._typed_ahead = self._typed_ahead, max(0, self._typed_ahead - len(data))
        return data[:ahead].replace(b"\n", b"\r") + data[ahead:]

    def start_application_mode(self) -> None:
        """Take the terminal; its size is read on the event loop, where the newest comes last.

        The stock signal handler reads it itself. A second signal may interrupt it between reading
        and posting, and then the app keeps the older size.
        """
        first, self._first_frame = self._first_frame, None
        typed = None if first is None else first.take()
        if typed is None:
            self._typed_ahead = _waiting_bytes(self.fileno)
        else:
            self.typed_text, self._unread, self._keeps_screen = typed.text, typed.keys, True
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no type
        if typed is not None:
            self.attrs_before = typed.attributes
        if not constants.DISABLE_KITTY_KEY:
            self.write(KEY_PROTOCOL)
        signal.signal(signal.SIGWINCH, self._note_size)
        self.pictures.kitty.send_all()

    def _note_size(self, _number: int, _frame: object) -> None:
        # Two steps, as the stock driver takes for the size at the start, which must not come later.
        self._call_soon(lambda: self._call_soon(self._post_size))

    def _post_size(self) -> None:
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self._app.post_message(events.Resize(size, size))

    def _measure_cell(self) -> CellSize | None:
        """Return the size of a cell, if the terminal keeps its size in pixels with the system."""
        size = array.array("H", [0] * 4)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.fileno, termios.TIOCGWINSZ, size)
        rows, columns, width, height = size
        return cell_size(width // columns, height // rows) if rows and columns else None

    def _drawn(self, text: str) -> str:
        """Return what is written in place of a text; called from the writing thread."""
        writer = self._writer_thread
        return self.pictures.drawn(text, 0 if writer is None else writer._queue.qsize())

    def _draw_again(self) -> None:
        self._call_soon(self._app.refresh)

    def _report(self, report: TerminalReport) -> None:
        if report.cell is not None:
            self.pictures.report_cell(cell_size(*report.cell))
        else:
            self.pictures.report_attributes(report.attributes)

    def process_message(self, message: "Message") -> None:
        """Process a message, except unrequested sizes and a mouse outside the screen."""
        if isinstance(message, TerminalReport):
            self._call_soon(lambda: self._report(message))
            return
        is_wanted = self._in_band_window_resize or not isinstance(message, events.Resize)
        if is_wanted and is_inside(message, self._app.size):
            super().process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError as error:
            self._lose_terminal(error)
        except Exception as error:  # noqa: BLE001 - the crash handler is where it belongs
            crash = error
            self._call_soon(lambda: self._app._handle_exception(crash))

    def _call_soon(self, act: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            logger.debug("the event loop has ended before its terminal")

    def _lose_terminal(self, error: OSError) -> None:
        """End the app as a hang-up does; called from the reading and the writing thread."""
        if self._is_lost:
            return
        self._is_lost = True
        logger.warning("the terminal is gone: %s", error.strerror)
        point_at_nothing(self.fileno, sys.__stdout__, sys.__stderr__)
        self._call_soon(lambda: self._app.exit(return_code=128 + signal.SIGHUP))

    def set_title(self, title: str) -> None:
        """Set the title of the window; the former one is restored at the end."""
        if self._writer_thread is None:
            return
        if not self._has_title:
            self._has_title = True
            self.write(_SAVE_TITLE)
        self.write(f"\x1b]2;{clean_name(title)[:TITLE_LENGTH]}\x07")

    def lend(self, reclaim: Callable[[], None]) -> None:
        """Give the terminal away: it is restored, and nothing is drawn until it is taken back.

        `reclaim` ends the other program; it is called if the app ends before.
        """
        self.suspend_application_mode()
        self._is_lent, self._reclaim = True, reclaim

    def take_back(self) -> None:
        """Take the terminal again and draw; a no-op if the app has ended meanwhile."""
        if self._reclaim is not None:
            self._is_lent, self._reclaim = False, None
            self.start_application_mode()
            self._app.post_message(self.SignalResume())

    def write(self, data: str) -> None:
        """Write to the terminal, unless another program has it."""
        if self._keeps_screen and data == _OTHER_SCREEN:
            self._keeps_screen = False  # on it already; some terminals would clear it
        elif not self._is_lent:
            super().write(data)

    def disable_input(self) -> None:
        """Read no more; the app ends, or gives its terminal away."""
        if not self._is_lent:
            super().disable_input()
        elif self._reclaim is not None:
            # The thread that writes has ended, so nothing more is drawn.
            reclaim, self._reclaim = self._reclaim, None
            reclaim()

    def stop_application_mode(self) -> None:
        """Restore the terminal, with what the stock driver leaves: mouse pixels and the title."""
        self.pictures.kitty.delete_all()
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
        if self._has_title:
            self._has_title = False
            self.write(_RESTORE_TITLE)
        # a frame in progress may have paused the terminal's output
        self.write("\x1b[?2026l")
        super().stop_application_mode()


class _WakingEvent(threading.Event):
    """An event that `select` can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def fileno(self) -> int:
        """Return a descriptor that is readable while the event is set."""
        return self._read

    def set(self) -> None:
        if not self.is_set():
            super().set()
            os.write(self._write, b"x")

    def clear(self) -> None:
        super().clear()
        try:
            os.read(self._read, READ_SIZE)
        except BlockingIOError:
            logger.debug("nothing to clear")

    def __del__(self) -> None:
        os.close(self._read)
        os.close(self._write)


class _TerminalText(io.TextIOWrapper):
    """Text on its way to a terminal, with what is drawn in place of some of it."""

    def __init__(
        self, raw: io.BufferedWriter, encoding: str, drawn: Callable[[str], str] | None
    ) -> None:
        super().__init__(raw, encoding=encoding, errors="replace", newline="")
        self._drawn = drawn

    def write(self, text: str, /) -> int:
        return super().write(text if self._drawn is None else self._drawn(text))


class _TerminalFile(io.FileIO):
    """Writes everything or, once the terminal is lost, nothing; never fails."""

    def __init__(self, descriptor: int, on_loss: Callable[[OSError], None]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._on_loss = on_loss

    def write(self, data: "ReadableBuffer", /) -> int:
        rest = memoryview(data)
        size = len(rest)
        while rest:
            try:
                rest = rest[os.write(self.fileno(), rest) :]
            except BlockingIOError:
                select.select([], [self.fileno()], [])
            except OSError as error:
                if error.errno not in _GONE:
                    logger.warning("writing to the terminal failed: %s", error.strerror)
                self._on_loss(error)
                break
        return size


def is_slow_line(terminal: int, environment: Mapping[str, str]) -> bool:
    """Whether a key's bytes may arrive in pieces: over SSH, or from a serial port."""
    if any(name in environment for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")):
        return True
    try:
        name = os.ttyname(terminal)
    except OSError:
        return False
    return re.fullmatch(r"/dev/(tty[A-Z]+[0-9]+|tty\..+|cu\..+)", name) is not None


def _waiting_bytes(terminal: int) -> int:
    """Return how many bytes of whole lines were typed and not read."""
    waiting = array.array("i", [0])
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.FIONREAD, waiting)
    return waiting[0]


def open_output(
    descriptor: int,
    encoding: str,
    on_loss: Callable[[OSError], None],
    drawn: Callable[[str], str] | None = None,
) -> io.TextIOWrapper:
    """Open a terminal for writing; neither a lost terminal nor any text makes writing raise.

    `drawn` returns what is written in place of a text.
    """
    raw = _TerminalFile(descriptor, on_loss)
    return _TerminalText(io.BufferedWriter(raw, READ_SIZE), encoding, drawn)


def point_at_nothing(*files: int | TextIO | None) -> None:
    """Redirect descriptors of a lost terminal to the null device, so that no write can fail."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in files:
        if file is not None:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nothing, file if isinstance(file, int) else file.fileno())
    os.close(nothing)
