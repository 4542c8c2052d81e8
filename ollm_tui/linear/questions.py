"""Questions to the user, in words: one line, one key, one of many; asked one after another.

They are put from the event loop and answered by the main thread, which has the terminal. A key that
allows something counts as on the screen: late, and only after a pause in typing.
"""

import queue
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import anyio

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name, spelled_line
from ollm_tui.frontend.consent import Arming
from ollm_tui.linear.terminal import ESCAPE, INTERRUPT, Terminal
from ollm_tui.protocol.forms import FieldValue, FormField, FormValues

PAGE: Final = 20
"""Choices that are read out at once."""
ENDS_WITHIN_S: Final = 2.0
"""How long a program on the terminal may take to end with this one."""


@dataclass(eq=False, slots=True)
class Question:
    """One question, until it is answered or withdrawn."""

    prompt: str
    keys: Mapping[str, str] | None = None
    """The answers by key; None asks for a line."""
    initial: str = ""
    answer: str | None = None
    is_withdrawn: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False, slots=True)
class Loan:
    """The terminal for another program, until that has ended."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    begun: anyio.Event = field(default_factory=anyio.Event)
    ended: threading.Event = field(default_factory=threading.Event)


class Questions:
    """Takes questions from the event loop and hands them to the main thread."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._waiting: queue.SimpleQueue[Question | Loan] = queue.SimpleQueue()
        self._lock = anyio.Lock()
        self.call_loop: Callable[[Callable[[], None]], None] = lambda act: act()
        """Calls a function in the event loop; for the main thread."""
        self._last_answer: float | None = None

    # In the event loop

    async def line(self, prompt: str, initial: str = "") -> str | None:
        """Return a line that the user typed; None if it was cancelled."""
        return await self._ask(Question(prompt, initial=initial))

    async def key(self, prompt: str, keys: Mapping[str, str]) -> str | None:
        """Return the answer of the key that was pressed; None for any refusal."""
        return await self._ask(Question(prompt, keys))

    async def is_sure(self, question: str) -> bool:
        """Return whether a yes was given; no is the default."""
        return await self.key(f"{question} y yes, n no:", {"y": "yes", "n": ""}) == "yes"

    async def choose(self, title: str, rows: Sequence[str]) -> int | None:
        """Read out numbered rows and return the position of the one that was chosen."""
        shown, start = list(range(len(rows))), 0
        while True:
            page = shown[start : start + PAGE]
            many = f"{start + 1} to {start + len(page)} of {len(shown)}" if shown else "none"
            lines = [f"{title}, {len(shown) if len(shown) <= PAGE else many}."]
            lines += [f"{at + 1}. {rows[at]}" for at in page]
            self._terminal.say("\n".join(lines))
            rest = len(shown) - start - len(page)
            further = ", n for the next" if rest else ""
            typed = await self.line(f"Number, words to filter{further}, or Enter to leave: ")
            words = (typed or "").strip()
            if not words:
                return None
            if words.isascii() and words.isdigit():
                if int(words) - 1 in shown:
                    return int(words) - 1
                self._terminal.say(f"There is no number {words[:9]} here.")
            elif words == "n" and rest:
                start += PAGE
            else:
                every = words.casefold().split()
                shown = [
                    at for at, row in enumerate(rows) if all(w in row.casefold() for w in every)
                ]
                start = 0
                if not shown:
                    self._terminal.say(f"Nothing matches {words}.")
                    shown = list(range(len(rows)))

    async def lend(self, use: Callable[[], Awaitable[int]]) -> int:
        """Return the exit code of a program that has the terminal to itself until it ends."""
        loan = Loan()
        async with self._lock:
            try:
                self._waiting.put(loan)
                self._terminal.wake()
                await loan.begun.wait()
                with loan.scope:
                    return await use()
                return -signal.SIGHUP
            finally:
                loan.ended.set()

    async def _ask(self, question: Question) -> str | None:
        async with self._lock:
            try:
                self._waiting.put(question)
                self._terminal.wake()
                await question.done.wait()
            finally:
                question.is_withdrawn = True
                self._terminal.wake()
            return question.answer

    # In the main thread

    def answer_next(self) -> bool:
        """Put the next question to the user; return whether there was one."""
        try:
            question = self._waiting.get_nowait()
        except queue.Empty:
            return False
        if isinstance(question, Loan):
            self._lend(question)
        elif not question.is_withdrawn:
            question.answer = self._put(question)
            self.call_loop(question.done.set)
        return True

    def _lend(self, loan: Loan) -> None:
        """Do nothing until the program has ended; this program's own end ends it."""
        if loan.ended.is_set():
            return
        with self._terminal.quiet():
            self.call_loop(loan.begun.set)
            try:
                loan.ended.wait()
            except BaseException:
                self.call_loop(loan.scope.cancel)
                loan.ended.wait(ENDS_WITHIN_S)
                raise

    def _put(self, question: Question) -> str | None:
        if question.keys is not None:
            return self._key(question, question.keys)
        try:
            return self._terminal.read_line(question.prompt, question.initial)
        except (KeyboardInterrupt, EOFError):
            return None

    def _key(self, question: Question, keys: Mapping[str, str]) -> str | None:
        terminal, arming = self._terminal, Arming(self._last_answer)
        with terminal.keys():
            terminal.forget_typed()
            terminal.say(question.prompt)
            arming.shown(time.monotonic())
            while not question.is_withdrawn:
                key = terminal.key()
                now = time.monotonic()
                if key is None:
                    continue
                if key in {ESCAPE, INTERRUPT}:
                    return None
                if not arming.is_armed(now):
                    arming.typed(now)
                elif key in {"\n", "\r"}:
                    return None
                elif key in keys:
                    self._last_answer = now
                    return keys[key]
                else:
                    arming.typed(now)
                    self._terminal.say(question.prompt.rpartition(". ")[2])
        return None


@dataclass(frozen=True, slots=True)
class LinearForms:
    """Asks for fields, one line after another."""

    questions: Questions
    say: Callable[[str], None]

    async def ask(self, title: str, fields: Sequence[FormField]) -> FormValues | None:
        """Return what the user entered, without what was left out; None if they cancelled."""
        self.say(f"{clean_line(title)}.")
        values: dict[str, FieldValue] = {}
        for one in fields:
            given, value = await self._entered(one)
            if not given:
                return None
            if value is not None:
                values[one.name] = value
        return values

    async def _entered(self, one: FormField) -> tuple[bool, FieldValue | None]:
        name, options = clean_name(one.shown), [clean_name(option.shown) for option in one.options]
        about = [spelled_line(one.about), f"One of: {', '.join(options)}" if options else ""]
        self.say(". ".join([name, *filter(None, about)]))
        while True:
            typed = await self.questions.line(f"{name}: ", one.written(one.default))
            if typed is None:
                return False, None
            try:
                return True, one.value_of(typed)
            except ValueError as error:
                self.say(str(error))
