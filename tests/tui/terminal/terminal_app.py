"""A small app on the real driver: shows each key, and fails or hangs when it is told to."""

import asyncio
import fcntl
import os
import struct
import sys
import termios
import time
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from ollm_tui.tui.crash import CrashReports, run_reported
from ollm_tui.tui.terminal.driver import TerminalDriver
from ollm_tui.tui.terminal.guard import check_terminal, driver_class, exit_signals, set_title


class ResizedAtOnce(TerminalDriver):
    """Gets another size before the event loop has seen the first one."""

    def start_application_mode(self) -> None:
        super().start_application_mode()
        fcntl.ioctl(self.fileno, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 91, 0, 0))


class TerminalApp(CrashReports[int]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("ctrl+q", "nothing", show=False, priority=True),
        Binding("ctrl+c", "nothing", show=False, priority=True),
    ]

    def __init__(self, mode: str) -> None:
        stock = mode == "stock"
        driver = ResizedAtOnce if mode == "sizes" else driver_class()
        super().__init__(driver_class=None if stock else driver)
        self.mode = mode
        self.seen = 0
        self.newest_size = ""  # may be known before the app is ready
        reports = os.environ.get("REPORTS")
        self.crash_directory = Path(reports) if reports else None
        secret = os.environ.get("SECRET", "\0")
        self.redact = lambda text: text.replace(secret, "«key»")

    def compose(self) -> ComposeResult:
        yield Static("starting", id="state", markup=False)
        yield Static("", id="paste", markup=False)

    def on_ready(self) -> None:
        set_title(self, "title \x1b]2;bad\x07")
        self.show(self.newest_size or "ready")

    def show(self, text: str) -> None:
        self.query_one("#state", Static).update(text)

    def on_resize(self, event: events.Resize) -> None:
        if self.mode == "sizes":
            self.newest_size = f"size {event.size.width} {event.size.height}."
            self.show(self.newest_size)

    def action_nothing(self) -> None:
        self.show("nothing")

    def on_key(self, event: events.Key) -> None:
        key = event.key
        self.seen += 1
        self.show(f"key {self.seen} {key}")
        if self.mode == "quit" and key == "q":
            self.exit(return_code=7)
        if self.mode == "block":
            set_title(self, "blocked now")
            time.sleep(60)
        while self.mode == "flood" and self._driver is not None:
            self._driver.write("x" * 10_000)
        if self.mode == "crash":
            prompt = os.environ.get("SECRET", "") + " is a local value"
            raise ValueError(f"{len(prompt)} with {os.environ.get('SECRET')}")
        if self.mode == "worker":
            self.fail_later()

    @work
    async def fail_later(self) -> None:
        prompt = os.environ.get("SECRET", "") + " is a local value"
        await asyncio.sleep(0)
        raise LookupError(prompt[-5:])

    def on_paste(self, event: events.Paste) -> None:
        self.query_one("#paste", Static).update(f"paste {len(event.text)} {event.text!r}")


async def run(app: TerminalApp) -> None:
    if app.mode in {"bare", "stock"}:
        await app.run_async()
        return
    with exit_signals(app, grace_s=1.0):
        await app.run_async()


def main() -> int:
    if (reason := check_terminal()) is not None:
        sys.stderr.write(reason + "\n")
        return 2
    app = TerminalApp(sys.argv[1])
    return run_reported(app, lambda: run(app))


if __name__ == "__main__":
    sys.exit(main())
