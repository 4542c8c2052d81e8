"""One start of one program: from its first byte to prompts and answers."""

import itertools
import os
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Self

from benchmarks.terminal.backend.process import Backend
from benchmarks.terminal.backend.server import Record
from benchmarks.terminal.programs import HERE, Maker, base_environment
from benchmarks.terminal.session import Session, now

TYPED = "zqv"
START_S = 60.0
QUIET_S = 0.2
REST_S, RESTING_S = 0.5, 0.01
"""A program rests if it uses less than the second in the time of the first; in seconds."""
_IDENTS = itertools.count(1001)


class Failed(Exception):
    """What the program did not do, in a sentence."""


class Run:
    """A program in a fresh home, with its server."""

    def __init__(
        self, maker: Maker, backend: Backend, *, seed: Path | None = None, has_heart: bool = False
    ) -> None:
        self.backend = backend
        self._folder = Path(tempfile.mkdtemp(prefix="ollm-bench-"))
        self.beats = self._folder / "beats"
        home, work = self._folder / "home", self._folder / "work"
        work.mkdir()
        home.mkdir()
        if seed is not None:
            shutil.copytree(seed, home, dirs_exist_ok=True)
        under = (str(HERE / "heartbeat.py"), str(self.beats)) if has_heart else ()
        self.program = maker(backend.url, home, under)
        for name, text in self.program.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        env = base_environment(home, os.environ.get("PATH", "")) | dict(self.program.env)
        self._start = partial(Session, self.program.argv, env, work, echoes=self.program.line_mode)
        self.session = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self) -> None:
        """End the program and start it again in the same home."""
        self.session.close()
        self.session = self._start()

    def start(self) -> float:
        """Wait until a typed character is shown; return the seconds that took.

        Menus that a program shows first are ours to work, not its own time: there it is the time
        to the first of them.
        """
        session, program = self.session, self.program
        menu: float | None = None
        for step in program.steps:
            at = self.need(step.seen, START_S)
            menu = menu or at
            time.sleep(0.3)
            if step.click:
                session.click(step.click)
            else:
                session.type(step.keys, 0.02)
        self.need(program.ready, START_S)
        echoed = self._first_echo()
        time.sleep(program.settle_s)
        self.clear(len(TYPED) * 10)
        return (menu or echoed) - session.started

    def _first_echo(self) -> float:
        """Type until it is shown; what is typed too early may be lost."""
        for _ in range(100):
            self.session.expect(TYPED)
            self.session.write(TYPED)
            if (echoed := self.session.wait(0.3)) is not None:
                return echoed
        raise Failed("the prompt never showed what was typed")

    def be_ready(self) -> None:
        """Wait until a prompt would be sent, and nothing is going on."""
        if self.program.answers:
            self.need(self.program.answers, START_S)
        self.session.settle(QUIET_S)

    def rest(self) -> None:
        """Wait until the program does nothing: all that loads behind the prompt is there."""
        end, used = now() + START_S, -1.0
        while now() < end and (newest := self.session.tree.cpu_s()) - used > RESTING_S:
            used = newest
            time.sleep(REST_S)

    def need(self, pattern: str, timeout_s: float) -> float:
        """Wait for a pattern that has to come; return when it did."""
        at = self.session.wait_for(pattern, timeout_s)
        if at is None:
            state = "it ended" if self.session.ended else f"{timeout_s:.0f} s"
            raise Failed(f"never saw {pattern!r} ({state})")
        return at

    def clear(self, characters: int = 60) -> None:
        """Empty the prompt."""
        self.session.type(self.program.clear or "\x7f" * characters, 0.002)
        time.sleep(0.2)

    def prepare(self, request: str) -> int:
        """Type a prompt without sending it; return the id of the answer it asks for."""
        ident = next(_IDENTS)
        self.session.expect(f"id={ident}")
        self.session.type(f"BENCH {request} id={ident}", self.program.key_gap_s)
        if self.session.wait(10) is None:
            raise Failed("the prompt did not arrive on the screen")
        time.sleep(QUIET_S)
        return ident

    def submit(self) -> float:
        """Send what was typed; return when."""
        at = now()
        self.session.write(self.program.submit)
        return at

    def stop(self) -> float:
        """Stop the answer; return when the key that counts was pressed."""
        *before, last = self.program.stop
        for key in before:
            self.session.write(key)
            time.sleep(0.3)
        at = now()
        if self.program.stop_click:
            self.session.click(self.program.stop_click)
        else:
            self.session.write(last)
        return at

    def record(self, ident: int) -> Record:
        """Return what the server noted of an answer."""
        record = self.backend.record(ident)
        if record is None:
            raise Failed("the prompt never reached the server")
        return record

    def warm_up(self) -> None:
        """Have one short answer, so that what is loaded late is not charged to the measured one."""
        self.be_ready()
        ident = self.prepare("n=60 r=0")
        self.submit()
        self.need(rf"QDONE{ident}\b", 60)
        self.be_ready()
