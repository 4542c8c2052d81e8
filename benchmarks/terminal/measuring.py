"""How rows become a figure: ratios within a round, medians, percentiles, the worst of many."""

import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from benchmarks.terminal.programs import BARE, OLLM
from benchmarks.terminal.rows import Rows, percentile


@dataclass(frozen=True, slots=True)
class Measured:
    """What the program gave, what the reference gave, and the figure that is held to the limit."""

    figure: float
    ours: str
    theirs: str = ""
    low: float | None = None
    high: float | None = None
    """The least and the most that a round gave for the figure."""
    is_comparable: bool = True
    """Whether the reference did as much work: on a slow machine it skips frames."""


MIN_FRAMES = 0.9
"""What share of the program's frames a reference has to draw to be comparable."""
Measure: TypeAlias = Callable[[Rows], Measured | None]


def spread(values: Collection[float], unit: str, digits: int = 2, scale: float = 1.0) -> str:
    """Write the median with the range of the rounds."""
    if not values:
        return ""
    low, middle, high = min(values), statistics.median(values), max(values)
    text = f"{scale * middle:.{digits}f} {unit}"
    is_range = f"{scale * low:.{digits}f}" != f"{scale * high:.{digits}f}"
    return f"{text} ({scale * low:.{digits}f} to {scale * high:.{digits}f})" if is_range else text


def against(
    other: str,
    case: str,
    key: str,
    unit: str,
    digits: int = 2,
    scale: float = 1.0,
    *,
    their_key: str = "",
) -> Measure:
    """Compare with another program in the same rounds; `their_key` is its value, if not `key`."""

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = rows.by_round(OLLM, case, key), rows.by_round(other, case, their_key or key)
        ratios = rows.ratios(ours, theirs)
        if not ratios:
            return None
        texts = [spread(one.values(), unit, digits, scale) for one in (ours, theirs)]
        figure = statistics.median(ratios)
        return Measured(figure, texts[0], f"{other} {texts[1]}", min(ratios), max(ratios))

    return measure


def cpu_against_bare(case: str) -> Measure:
    """Compare processor time a token with bare Textual, and say how many frames both drew."""

    def measure(rows: Rows) -> Measured | None:
        compared = against(BARE, case, "cpu_ms_per_token", "ms", 3)(rows)
        if compared is None:
            return None
        ours, theirs = (rows.median(name, case, "frames") or 0 for name in (OLLM, BARE))
        return replace(
            compared,
            ours=f"{compared.ours}, {ours:.0f} frames",
            theirs=f"{compared.theirs}, {theirs:.0f} frames",
            is_comparable=theirs >= MIN_FRAMES * ours,
        )

    return measure


def own_ratio(case: str, other: str, key: str, unit: str) -> Measure:
    """Compare the program with itself in another case."""

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = rows.by_round(OLLM, case, key), rows.by_round(OLLM, other, key)
        ratios = rows.ratios(ours, theirs)
        if not ratios:
            return None
        texts = [spread(one.values(), unit) for one in (ours, theirs)]
        figure = statistics.median(ratios)
        return Measured(figure, texts[0], f"{other}: {texts[1]}", min(ratios), max(ratios))

    return measure


def median_of(
    case: str, key: str, unit: str, scale: float = 1.0, others: Sequence[str] = (BARE,)
) -> Measure:
    """Take the median of the rounds, for a limit in its own unit; others inform."""

    def measure(rows: Rows) -> Measured | None:
        values = rows.by_round(OLLM, case, key).values()
        if not values:
            return None
        beside = [
            f"{other} {text}"
            for other in others
            if (text := spread(rows.by_round(other, case, key).values(), unit, 1, scale))
        ]
        return Measured(
            scale * statistics.median(values),
            spread(values, unit, 1, scale),
            "; ".join(beside),
            scale * min(values),
            scale * max(values),
        )

    return measure


def tail_of(case: str, key: str, share: float = 0.99, others: Sequence[str] = (BARE,)) -> Measure:
    """Take a percentile of all that was measured, in ms; others inform."""

    def text_of(values: list[float]) -> str:
        return f"p50 {percentile(values, 0.5):.1f} ms, p99 {percentile(values, 0.99):.1f} ms"

    def measure(rows: Rows) -> Measured | None:
        figure = percentile(ours := rows.every(OLLM, case, key), share)
        if figure is None:
            return None
        rounds = [percentile(values, share) or 0.0 for values in rows.lists(OLLM, case, key)]
        beside = [
            f"{other} {text_of(theirs)}"
            for other in others
            if (theirs := rows.every(other, case, key))
        ]
        return Measured(figure, text_of(ours), "; ".join(beside), min(rounds), max(rounds))

    return measure


def longest(case: str) -> Measure:
    """Take the longest stall of the event loop, with the processor time that was used in it."""

    def measure(rows: Rows) -> Measured | None:
        stall = rows.largest(OLLM, case, "stall_ms")
        if stall is None:
            return None
        used, other = rows.largest(OLLM, case, "stall_cpu_ms"), rows.largest(BARE, case, "stall_ms")
        reference = "" if other is None else f"bare Textual {other:.0f} ms"
        return Measured(stall, f"{stall:.0f} ms, of them {used:.0f} ms of work", reference)

    return measure


def worst_of(cases: Sequence[str], key: str, unit: str) -> Measure:
    """Take the largest over several cases, and name the case."""

    def measure(rows: Rows) -> Measured | None:
        measured = [(value, case) for case in cases for value in rows.numbers(OLLM, case, key)]
        if len({case for _, case in measured}) < len(cases):
            return None
        value, case = max(measured)
        return Measured(value, f"{value:.3g} {unit}, {case}")

    return measure


def tail_over(cases: Sequence[str], key: str) -> Measure:
    """Take the 99th percentile over several cases, in ms."""

    def measure(rows: Rows) -> Measured | None:
        values = [value for case in cases for value in rows.numbers(OLLM, case, key)]
        figure = percentile(values, 0.99)
        if figure is None:
            return None
        return Measured(figure, f"p50 {percentile(values, 0.5):.0f} ms, p99 {figure:.0f} ms")

    return measure
