"""From the server sending a word inside an answer to its being whole on the screen."""

from dataclasses import dataclass

from benchmarks.terminal.answer import MARKED
from benchmarks.terminal.emulator import Emulator
from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.measures import Values
from benchmarks.terminal.session import Session

EVERY = 5
"""After how many tokens a word is marked."""
LATER = 3
"""So many times as long as the answer takes its end may take, and then this long in seconds."""
TIMEOUT_S = 30.0
LOST_S = 5.0


@dataclass(frozen=True, slots=True)
class Words:
    """Tokens, and tokens a second."""

    tokens: int
    rate: int

    def __call__(self, run: Run) -> Values:
        run.start()
        run.warm_up()
        ident = run.prepare(f"n={self.tokens} r={self.rate} every={EVERY}")
        shown = ShownWords(run.session)
        run.session.watch(shown)
        run.session.expect(rf"QDONE{ident}\b")
        run.submit()
        if run.session.wait(LATER * self.tokens / self.rate + TIMEOUT_S) is None:
            raise Failed("the last word was never shown")
        return {"word_ms": shown.lags(run.record(ident).words)}


class ShownWords:
    """Notes when each marked word is first on the screen; never what is waited for itself."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._at: dict[str, float] = {}

    def __call__(self, emulator: Emulator) -> bool:
        for word in MARKED.findall(emulator.text):
            self._at.setdefault(word, self._session.newest_output)
        return False

    def lags(self, sent: dict[str, float]) -> list[float]:
        """Return what each word took in ms; one that never was on the screen counts as 5 s."""
        return [
            1000 * (self._at[word] - at if word in self._at else LOST_S)
            for word, at in sent.items()
        ]
