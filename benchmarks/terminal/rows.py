"""What was measured: one row for each program, case and round."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from benchmarks.terminal.quiet import BUSY, OTHERS
from benchmarks.terminal.scenarios.measures import Values


@dataclass(frozen=True, slots=True)
class Row:
    """What one start of one program gave, or why it gave nothing."""

    program: str
    case: str
    round: int
    values: Values = field(default_factory=dict)
    error: str = ""
    others: float | None = None
    """The share of one processor that others used meanwhile, if that is known."""
    load: float | None = None
    """The load of the machine before the run."""

    def line(self) -> str:
        """Return the row as a line of JSON."""
        return json.dumps(asdict(self))


def row_from(line: str) -> Row:
    """Read a line that `Row.line` gave."""
    return Row(**json.loads(line))


class Rows:
    """All rows, with the ways to look at them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.all = list(rows)

    @property
    def load_before(self) -> float:
        """The load of the machine before the run."""
        return max((row.load or 0.0 for row in self.all), default=0.0)

    @property
    def began_quiet(self) -> bool:
        """Whether the machine had nothing to do before the run."""
        return self.load_before <= BUSY

    @property
    def noisy(self) -> list[Row]:
        """Return the rows while which others used the machine."""
        return [row for row in self.all if row.others is not None and row.others > OTHERS]

    def quiet(self) -> "Rows":
        """Return what is left without the rounds in which others used the machine."""
        noisy = {(row.case, row.round) for row in self.noisy}
        return Rows([row for row in self.all if (row.case, row.round) not in noisy])

    def rounds(self, case: str, program: str) -> int:
        """Return in how many rounds a program was measured, or any if it takes no part."""
        rows = self._of(program, case) or [row for row in self.all if row.case == case]
        return len({row.round for row in rows if not row.error})

    def has(self, program: str) -> bool:
        """Whether a program took part."""
        return any(row.program == program for row in self.all)

    def by_round(self, program: str, case: str, key: str) -> dict[int, float]:
        """Return a number by round, where there is one."""
        return {
            row.round: value
            for row in self._of(program, case)
            if isinstance(value := row.values.get(key), float | int)
        }

    def every(self, program: str, case: str, key: str) -> list[float]:
        """Return what was measured many times in each round, all rounds together."""
        return [number for numbers in self.lists(program, case, key) for number in numbers]

    def lists(self, program: str, case: str, key: str) -> list[list[float]]:
        """Return the same round by round."""
        values = [row.values.get(key) for row in self._of(program, case)]
        return [value for value in values if isinstance(value, list) and value]

    def numbers(self, program: str, case: str, key: str) -> list[float]:
        """Return all numbers of a name, whether measured once or many times in a round."""
        return [*self.by_round(program, case, key).values(), *self.every(program, case, key)]

    def median(self, program: str, case: str, key: str) -> float | None:
        """Return the median over the rounds."""
        values = self.by_round(program, case, key).values()
        return statistics.median(values) if values else None

    def largest(self, program: str, case: str, key: str) -> float | None:
        """Return the largest of the rounds."""
        return max(self.by_round(program, case, key).values(), default=None)

    def ratio(self, ours: dict[int, float], theirs: dict[int, float]) -> float | None:
        """Return the median of the ratios."""
        ratios = self.ratios(ours, theirs)
        return statistics.median(ratios) if ratios else None

    def ratios(self, ours: dict[int, float], theirs: dict[int, float]) -> list[float]:
        """Return the ratios within each round: a slow moment hits both."""
        return [ours[at] / theirs[at] for at in ours.keys() & theirs.keys() if theirs[at]]

    def errors(self) -> list[str]:
        """Return the errors, each once."""
        errors = [f"{row.program}, {row.case}: {row.error}" for row in self.all if row.error]
        return list(dict.fromkeys(errors))

    def _of(self, program: str, case: str) -> list[Row]:
        return [row for row in self.all if row.program == program and row.case == case]


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of all do not pass; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
