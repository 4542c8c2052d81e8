"""From starting a program with a saved chat to its last word and a prompt that takes keys."""

from dataclasses import dataclass

from benchmarks.terminal.run import START_S, TYPED, Failed, Run
from benchmarks.terminal.scenarios.values import Values, memory
from benchmarks.terminal.seeding import LAST_WORD
from benchmarks.terminal.session import now

EMPTY = 2
"""A chat that can be opened has a question and its answer."""
CHATS = (EMPTY, 200, 5000)


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
