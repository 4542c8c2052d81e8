"""From starting a program, without or with a saved chat, to a prompt that takes keys."""

import time
from dataclasses import dataclass

from benchmarks.terminal.run import START_S, TYPED, Failed, Run
from benchmarks.terminal.scenarios.measures import Values, memory
from benchmarks.terminal.seeds import LAST_WORD
from benchmarks.terminal.session import now

WATCHED_S = 5.0
EMPTY = 2
"""A chat that can be opened has a question and its answer."""
CHATS = (EMPTY, 200, 5000)


def startup(run: Run) -> Values:
    """Measure the start, and the memory when all that loads behind it has loaded.

    The start that counts is the second one in a home, as all but one are.
    """
    run.need(run.program.ready, START_S)
    run.be_ready()
    run.rest()
    run.restart()
    usable = run.start()
    cpu = run.session.tree.cpu_s()
    run.be_ready()
    run.rest()
    return {"usable_s": usable, "cpu_s": cpu, **memory(run)}


def idle(run: Run) -> Values:
    """Measure what a program uses without input, with an answer on the screen."""
    run.start()
    run.warm_up()
    time.sleep(1.0)
    session = run.session
    began, cpu, size = now(), session.tree.cpu_s(), session.bytes
    time.sleep(WATCHED_S)
    took = now() - began
    used, wrote = session.tree.cpu_s() - cpu, session.bytes - size
    return {"cpu_percent": 100 * used / took, "bytes_per_s": wrote / took}


@dataclass(frozen=True, slots=True)
class Opening:
    """A saved chat of so many messages."""

    messages: int

    def __call__(self, run: Run) -> Values:
        session = run.session
        shown = run.need(LAST_WORD, START_S)
        pressed = now()
        session.expect(TYPED)
        session.write(TYPED)
        echoed = session.wait()
        if echoed is None:
            raise Failed("the prompt never showed what was typed")
        cpu = session.tree.cpu_s()
        return {
            "shown_s": shown - session.started,
            "usable_s": echoed - session.started,
            "echo_ms": [1000 * (echoed - pressed)],
            "cpu_s": cpu,
            **memory(run),
        }
