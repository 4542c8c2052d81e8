"""A stalling document while keys are typed: longest stall, keys, and how soon Esc is obeyed."""

import time
from dataclasses import dataclass

from benchmarks.terminal.answer import document_pieces
from benchmarks.terminal.run import Run
from benchmarks.terminal.scenarios.abort import time_to_disconnect
from benchmarks.terminal.scenarios.echo import echo_times
from benchmarks.terminal.scenarios.measures import Values, stalls
from benchmarks.terminal.session import now

KEYS = 15
SETTLES_S = 30.0
DIGESTING_S = 0.05
"""How long after the document, or its first part, has come Esc is pressed."""
LASTS_S = 4.0
"""How long a document in pieces takes to come when it is to be stopped."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document by name, sent in one piece or as a model would send it."""

    name: str
    whole: bool

    def __call__(self, run: Run) -> Values:
        run.start()
        run.warm_up()
        request = f"doc={self.name} whole={int(self.whole)}"
        ident = run.prepare(f"{request} r=0")
        done = run.session.watch(rf"QDONE{ident}\b")
        began = run.submit()
        echoes = echo_times(run, KEYS)
        shown = run.session.wait_watch(done, SETTLES_S)
        run.be_ready()
        values: Values = {**stalls(run.beats, began, now()), "echo_ms": echoes}
        if shown is not None:
            values["shown_s"] = shown - began
        values["abort_ms"] = [self._abort(run, request)]
        return values

    def _abort(self, run: Run, request: str) -> float:
        # At one piece a second a whole document comes after one second.
        count = len(document_pieces(self.name, 0, whole=self.whole))
        ident = run.prepare(f"{request} r={1 if self.whole else count / LASTS_S}")
        began = run.submit()
        time.sleep(max(0.0, began + (1.0 if self.whole else 0.5) + DIGESTING_S - now()))
        return time_to_disconnect(run, ident)
