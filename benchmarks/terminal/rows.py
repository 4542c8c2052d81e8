"""What was measured: one row for each program, case and round."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from benchmarks.terminal.scenarios.measures import Values


@dataclass(frozen=True, slots=True)
class Row:
    """What one start of one program gave, or why it gave nothing."""

    program: str
    case: str
    round: int
    values: Values = field(default_factory=dict)
    error: str = ""

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

    def by_round(self, program: str, case: str, key: str) -> dict[int, float]:
        """Return a number by round, where there is one."""
        return {
            row.round: value
            for row in self._of(program, case)
            if isinstance(value := row.values.get(key), float | int)
        }

    def every(self, program: str, case: str, key: str) -> list[float]:
        """Return what was measured many times in each round, all rounds together."""
        numbers: list[float] = []
        for row in self._of(program, case):
            value = row.values.get(key)
            numbers += value if isinstance(value, list) else []
        return numbers

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
        """Return the median of the ratios within a round: a slow moment hits both."""
        ratios = [ours[at] / theirs[at] for at in ours.keys() & theirs.keys() if theirs[at]]
        return statistics.median(ratios) if ratios else None

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
