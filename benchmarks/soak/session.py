"""The person at the terminal: types prompts, presses Esc, begins chats and goes back to others."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from benchmarks.soak.plan import TITLE, Turn
from tests.support.pty_session import PtySession, wait_until

TIMEOUT_S = 15.0
SHOWN_S = 3.0
"""How long a chat that was chosen may take to be on the screen."""
AGAIN_S = 0.2
"""How long a pressed Esc may take to end the answer before it is pressed again."""
ASKED_S = 0.3
"""Within this time after a chat is left the question opens whether an answer may be stopped."""
PRESSES = 3
"""How often the approval mode is changed where a press was for the chat that is left."""
ESC, CTRL_N, CTRL_R, DOWN, SHIFT_TAB = b"\x1b", b"\x0e", b"\x12", b"\x1b[B", b"\x1b[Z"


class ServerLog:
    """The lines that the server has printed so far."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines
        self._told: set[tuple[str, str]] = set()
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            word, _, value = line.strip().partition(" ")
            with self._changed:
                self._told.add((word, value))
                self._changed.notify_all()

    def has(self, word: str, number: int, within_s: float) -> bool:
        """Wait for a line of the server."""
        with self._changed:
            return self._changed.wait_for(lambda: (word, str(number)) in self._told, within_s)


@dataclass
class Person:
    """Carries out a plan and counts its actions."""

    session: PtySession
    log: ServerLog
    done: Counter[str] = field(default_factory=Counter)

    def take(self, turn: Turn) -> None:
        """Ask one prompt and see it through to its end, or stop it."""
        # A prompt sent before the last answer failed waits in the queue until a retry.
        self.session.wait_for(self._is_at_rest, TIMEOUT_S)
        self.session.forget()
        self.session.write(f"{turn.prompt}\r")
        if turn.kind != "endless":
            self._await("ASKED", turn.number)
            self._await("ENDED", turn.number)
            self.done[turn.kind] += 1
        elif turn.is_early:
            time.sleep(turn.press_after_s / 10)
            self.session.write(ESC)
            self._press_until_ended(turn.number)
            self.done["stopped early"] += 1
        else:
            self._await("ASKED", turn.number)
            time.sleep(turn.press_after_s)
            self.session.write(ESC)
            self._press_until_ended(turn.number)
            self.done["stopped"] += 1

    def begin_chat(self) -> None:
        """Start a new chat, in which tools that read need no yes."""
        self._go(lambda: self.session.write(CTRL_N), lambda: TITLE not in self._first_line())
        self._let_tools_read()
        self.done["new chats"] += 1

    def open_other(self, row: int) -> None:
        """Go to another chat of the list and wait until it is there."""

        def choose() -> None:
            self.session.write(CTRL_R)
            self.session.wait_for("Enter open", TIMEOUT_S)
            self.session.write(DOWN * row)
            self.session.write("\r")

        self._go(choose, lambda: "Enter open" not in self.session.screen_text())
        self._let_tools_read()
        self.done["switches"] += 1

    def rest(self) -> None:
        """Wait until nothing comes any more."""
        self.session.wait_for(self._is_at_rest, TIMEOUT_S)
        self.session.forget()

    def settle(self) -> None:
        """Wait until nothing was printed for a moment."""
        for _ in range(20):
            self.session.forget()
            if not wait_until(lambda: bool(self.session.raw), 0.3):
                return

    def _go(self, leave: Callable[[], None], is_there: Callable[[], bool]) -> None:
        """Leave the chat; where the app has not seen the answer's end yet, once it has."""
        while True:
            self.rest()
            leave()
            self.session.wait_for(lambda: is_there() or self._is_asked(), TIMEOUT_S)
            if not wait_until(self._is_asked, ASKED_S):
                return
            self.session.write(ESC)
            self.session.wait_for(lambda: not self._is_asked(), TIMEOUT_S)

    def _is_asked(self) -> bool:
        return "An answer is in progress" in self.session.screen_text()

    def _let_tools_read(self) -> None:
        """Allow it once the chat that was left is gone; where none was left it still stands."""
        for _ in range(PRESSES):
            # A key that comes while the chat changes counts for the one that is left.
            if wait_until(lambda: "auto-approve" not in self.session.screen_text(), SHOWN_S):
                self.session.write(SHIFT_TAB)
            if wait_until(lambda: "auto-approve reads" in self.session.screen_text(), TIMEOUT_S):
                return
        self.session.wait_for("auto-approve reads", TIMEOUT_S)

    def _press_until_ended(self, number: int) -> None:
        """Press again where Esc came before there was anything to stop."""
        while not self.log.has("ENDED", number, AGAIN_S):
            if not self.log.has("ASKED", number, 0) and self._is_at_rest():
                return  # stopped before the server saw it
            self.session.write(ESC)

    def _first_line(self) -> str:
        return self.session.screen_text().partition("\n")[0]

    def _is_at_rest(self) -> bool:
        text = self.session.screen_text()
        return "Esc stop" not in text and "queued" not in text

    def _await(self, word: str, number: int) -> None:
        if not self.log.has(word, number, TIMEOUT_S):
            raise SystemExit(f"turn {number}: no {word}\n{self.session.screen_text()}")
