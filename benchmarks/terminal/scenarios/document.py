"""A stalling document while keys are typed: longest stall, keys, and how soon Esc is obeyed."""

from dataclasses import dataclass

from benchmarks.terminal.run import Run
from benchmarks.terminal.scenarios.echo import echo_times
from benchmarks.terminal.scenarios.stalls import stalls
from benchmarks.terminal.scenarios.values import Values
from benchmarks.terminal.session import now

KEYS = 20
SETTLES_S = 30.0


@dataclass(frozen=True, slots=True)
class Document:
    """A document by name, sent in one piece or as a model would send it, without a limit."""

    name: str
    whole: bool

    def __call__(self, run: Run) -> Values:
        run.start()
        run.warm_up()
        ident = run.prepare(f"doc={self.name} whole={int(self.whole)} r=0")
        began = run.submit()
        echoes = echo_times(run, KEYS)
        run.session.expect(rf"QDONE{ident}\b")
        shown = run.session.wait(SETTLES_S)
        run.session.settle()
        values: Values = {"echo_ms": echoes, **stalls(run.beats, began, now())}
        if shown is not None:
            values["shown_s"] = shown - began
        return values
