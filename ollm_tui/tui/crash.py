"""What happens when the app fails: a report in a file, one sentence in the shell, exit code 1.

Textual's own way prints local variables, keys and prompts among them, and ends with exit code 0.
"""

import contextlib
import logging
import os
import platform
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio
from textual.app import App, ReturnType
from textual.content import Content
from textual.timer import Timer
from textual.worker import WorkerFailed

from ollm_tui import __version__
from ollm_tui.config.paths import private_folder
from ollm_tui.decode.clean import clean

logger = logging.getLogger(__name__)

Redactor = Callable[[str], str]

REPORT_LIMIT: Final = 256 * 1024
KEPT_REPORTS: Final = 20
_CUT: Final = "\n[...]\n"
_STOCK_WRAP: Final = Content._wrap_and_format
_STOCK_RUN_TIMER: Final = Timer._run


def write_report(error: BaseException, directory: Path, redact: Redactor) -> Path:
    """Write the traceback of an error, without any values, to a new file only its owner can read.

    Raises:
        OSError: The directory or the file cannot be written.
    """
    private_folder(directory)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = directory / f"crash-{stamp}-{os.getpid()}-{time.monotonic_ns() % 10**6:06}.txt"
    text = clean(redact(describe(error)))
    if len(text) > REPORT_LIMIT:
        text = text[: REPORT_LIMIT // 2] + _CUT + text[-REPORT_LIMIT // 2 :]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    _forget_old_reports(directory)
    return path


def describe(error: BaseException) -> str:
    """Return versions and traceback; neither local variables nor the environment."""
    # takes 8 ms to load, with the mail and archive modules it needs
    from importlib import metadata

    lines = [
        f"ollm_tui {__version__}, textual {metadata.version('textual')}",
        f"Python {platform.python_version()} on {platform.platform()}, {os.environ.get('TERM')}",
        time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "",
        *traceback.TracebackException.from_exception(error, capture_locals=False).format(),
    ]
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


def _forget_old_reports(directory: Path) -> None:
    for old in sorted(directory.glob("crash-*.txt"))[:-KEPT_REPORTS]:
        with contextlib.suppress(OSError):
            old.unlink()


class CrashReports(App[ReturnType]):
    """An app whose crash is reported to a file and not to the screen.

    Set `crash_directory` and `redact` before running; without a directory there is only the
    sentence. `run_reported` prints it.
    """

    crash_directory: Path | None = None
    redact: Redactor = staticmethod(str)
    crash_sentence: str | None = None
    """What to say of the crash, if the app crashed."""

    def __init__(self, **options: Any) -> None:
        mend_textual()
        super().__init__(**options)

    def _handle_exception(self, error: Exception) -> None:
        """Take the place of Textual's handler, which every unhandled exception reaches."""
        if self._exception is None:
            # A test that drives the app raises it again.
            self._exception = error
            self._exception_event.set()
        self.report(error)
        self._close_messages_no_wait()

    def report(self, error: Exception) -> None:
        """Write a report; only one, as further errors may follow from the first."""
        self._return_code = 1
        if self.crash_sentence is None:
            self.crash_sentence = clean(self._report(error))

    def _report(self, error: Exception) -> str:
        cause = _only_cause(error)
        sentence = f"ollm had to stop: an unexpected {type(cause).__name__}."
        if self.crash_directory is None:
            return sentence
        try:
            path = write_report(cause, self.crash_directory, self.redact)
        except Exception as failure:  # noqa: BLE001 - nothing may keep a crashing app from ending
            reason = failure.strerror if isinstance(failure, OSError) else type(failure).__name__
            return f"{sentence} The report could not be written: {reason}."
        logger.error("crash report written to %s", path)
        return f"{sentence} The report is in\n{path}"

    def _fatal_error(self) -> None:
        """Print no traceback; Textual calls this for what it could not even hand over."""
        self._return_code = 1
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        """Print nothing of a crash: the terminal may still show the app's own screen."""
        if self.crash_sentence is None:
            super()._print_error_renderables()
        self._exit_renderables.clear()


def _only_cause(error: Exception) -> Exception:
    """Return what failed, without the worker or the task group that it failed in."""
    while True:
        match error:
            case WorkerFailed(error=Exception() as inner):
                error = inner
            case ExceptionGroup(exceptions=(Exception() as inner,)):
                error = inner
            case _:
                return error


def run_reported(app: CrashReports[Any], live: Callable[[], Awaitable[object]]) -> int:
    """Run an app with all that is around it, and return the exit code.

    What fails around the app is reported as what fails in it. The sentence comes last, when the
    terminal is as it was.
    """
    try:
        anyio.run(live)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        app.report(error)
    if app.crash_sentence is not None:
        sys.stderr.write(f"{app.crash_sentence}\n")
    return app.return_code or 0


# Faults of Textual that can be mended from no widget. Its version is pinned, and a test shows for
# each that the stock code still fails: when that test fails, what stands here goes.


def mend_textual() -> None:
    """Replace the faulty code; a no-op when repeated."""
    Content._wrap_and_format = _wrap_with_room  # type: ignore[method-assign]
    Timer._run = _run_once_or_more  # type: ignore[method-assign]


def _wrap_with_room(self: Content, width: int, *args: Any, **options: Any) -> Any:
    """Wrap in one cell at least: the stock code divides by the width that a border leaves."""
    room = max(width, 1 + 2 * options.get("line_pad", 0))
    return _STOCK_WRAP(self, room, *args, **options)


async def _run_once_or_more(self: Timer) -> None:
    """Run a timer; one that fires once does so even if it is late.

    The stock code skips what is late. After a pause of the machine between two of its lines, the
    chat would never open, and no change of the terminal's size would ever be drawn again.
    """
    if self._repeat == 0:
        self._skip = False
    await _STOCK_RUN_TIMER(self)
