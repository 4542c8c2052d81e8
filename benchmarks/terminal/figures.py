"""The figures to reach, each out of the rows, with its limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchmarks.terminal.cases import (
    ABORT,
    ECHO,
    GROUPS,
    HUNG_ECHO,
    IDLE,
    SCROLL,
    STARTUP,
    STREAMS,
    opening_name,
    stream_name,
)
from benchmarks.terminal.programs import BARE, OLLM
from benchmarks.terminal.rows import Rows, percentile
from benchmarks.terminal.scenarios.startup import EMPTY

Verdict: TypeAlias = Literal["ok", "MISSED", "not measured", ""]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the program gave, what the reference gave, and the figure that is held to the limit."""

    figure: float
    ours: str
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    cases: Sequence[str]
    """The cases it needs; it is left out when none of them was run."""
    measure: Callable[[Rows], Measured | None]
    limit: float | None = None
    """The most that is good; None where a figure only informs."""
    unit: str = "times"

    def verdict(self, measured: Measured | None) -> Verdict:
        """Hold what was measured to the limit."""
        if measured is None:
            return "not measured"
        if self.limit is None:
            return ""
        return "ok" if measured.figure <= self.limit else "MISSED"


def against_bare(
    case: str, key: str, unit: str, digits: int = 2
) -> Callable[[Rows], Measured | None]:
    """Compare with bare Textual in the same rounds."""

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = rows.by_round(OLLM, case, key), rows.by_round(BARE, case, key)
        ratio = rows.ratio(ours, theirs)
        if ratio is None:
            return None
        return Measured(
            ratio,
            f"{rows.median(OLLM, case, key):.{digits}f} {unit}",
            f"bare Textual {rows.median(BARE, case, key):.{digits}f} {unit}",
        )

    return measure


def cpu_against_bare(case: str) -> Callable[[Rows], Measured | None]:
    """Compare processor time a token with bare Textual; who draws fewer frames has it easier."""

    def value_text(rows: Rows, program: str) -> str:
        used, frames = (rows.median(program, case, key) for key in ("cpu_ms_per_token", "frames"))
        return f"{used:.3f} ms, {frames:.0f} frames"

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = (rows.by_round(name, case, "cpu_ms_per_token") for name in (OLLM, BARE))
        ratio = rows.ratio(ours, theirs)
        if ratio is None:
            return None
        return Measured(ratio, value_text(rows, OLLM), f"bare Textual {value_text(rows, BARE)}")

    return measure


def own_ratio(case: str, other: str, key: str, unit: str) -> Callable[[Rows], Measured | None]:
    """Compare the program with itself in another case."""

    def measure(rows: Rows) -> Measured | None:
        ratio = rows.ratio(rows.by_round(OLLM, case, key), rows.by_round(OLLM, other, key))
        if ratio is None:
            return None
        ours, theirs = rows.median(OLLM, case, key), rows.median(OLLM, other, key)
        return Measured(ratio, f"{ours:.2f} {unit}", f"{other}: {theirs:.2f} {unit}")

    return measure


def median_of(
    case: str, key: str, unit: str, scale: float = 1.0
) -> Callable[[Rows], Measured | None]:
    """Take the median of the rounds, for a limit in its own unit."""

    def measure(rows: Rows) -> Measured | None:
        value = rows.median(OLLM, case, key)
        if value is None:
            return None
        other = rows.median(BARE, case, key)
        reference = "" if other is None else f"bare Textual {scale * other:.1f} {unit}"
        return Measured(scale * value, f"{scale * value:.1f} {unit}", reference)

    return measure


def tail_of(case: str, key: str, share: float = 0.99) -> Callable[[Rows], Measured | None]:
    """Take a percentile of all that was measured, in ms."""

    def median_text(values: list[float]) -> str:
        return f"p50 {percentile(values, 0.5):.0f} ms, p99 {percentile(values, 0.99):.0f} ms"

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = rows.every(OLLM, case, key), rows.every(BARE, case, key)
        figure = percentile(ours, share)
        if figure is None:
            return None
        return Measured(
            figure, median_text(ours), f"bare Textual {median_text(theirs)}" if theirs else ""
        )

    return measure


def longest(case: str) -> Callable[[Rows], Measured | None]:
    """Take the longest stall of the event loop, with the processor time that was used in it."""

    def measure(rows: Rows) -> Measured | None:
        stall = rows.largest(OLLM, case, "stall_ms")
        if stall is None:
            return None
        used, other = rows.largest(OLLM, case, "stall_cpu_ms"), rows.largest(BARE, case, "stall_ms")
        reference = "" if other is None else f"bare Textual {other:.0f} ms"
        return Measured(stall, f"{stall:.0f} ms, of them {used:.0f} ms of work", reference)

    return measure


def stream_figures() -> list[Figure]:
    """Return the figures of streamed answers: those with a limit, then what else was streamed."""
    limits = {stream_name(1000, 200): 0.35, stream_name(5000, 1000): 0.50}
    cpu = "cpu_ms_per_token"
    figures = [
        Figure(f"CPU per token, {case.name}", [case.name],
               cpu_against_bare(case.name), limits.get(case.name))
        for case in STREAMS
    ]  # fmt: skip
    long, short = stream_name(20_000, 1000), stream_name(1000, 1000)
    five, unlimited = stream_name(5000, 1000), stream_name(5000, 0)
    return [
        *figures,
        Figure("growth: CPU per token of 20k over 1k", [long, short],
               own_ratio(long, short, cpu, "ms"), 1.2),
        Figure("lag of the last word, unlimited", [unlimited],
               against_bare(unlimited, "lag_s", "s", 3), 0.3),
        Figure("lag of the last word at 1,000/s", [five],
               median_of(five, "lag_s", "ms", 1000), 50, "ms"),
        Figure("memory after 20k tokens", [long],
               against_bare(long, "memory_mb", "MB", 0), 2.5),
    ]  # fmt: skip


def opening_figures() -> list[Figure]:
    """Return the figures of saved chats."""
    empty, long, huge = opening_name(EMPTY), opening_name(200), opening_name(5000)
    return [
        Figure("opening a chat of 200 messages", [long, empty],
               own_ratio(long, empty, "usable_s", "s"), 1.5),
        Figure("opening a chat of 5,000 messages, 20 MB", [huge],
               median_of(huge, "usable_s", "s"), 1.0, "s"),
    ]  # fmt: skip


def worst_of(cases: Sequence[str], key: str, unit: str) -> Callable[[Rows], Measured | None]:
    """Take the largest over several cases, and name the case."""

    def measure(rows: Rows) -> Measured | None:
        measured = [(value, case) for case in cases for value in rows.numbers(OLLM, case, key)]
        if len({case for _, case in measured}) < len(cases):
            return None
        value, case = max(measured)
        return Measured(value, f"{value:.3g} {unit}, {case}")

    return measure


def tail_over(cases: Sequence[str], key: str) -> Callable[[Rows], Measured | None]:
    """Take the 99th percentile over several cases, in ms."""

    def measure(rows: Rows) -> Measured | None:
        values = [value for case in cases for value in rows.numbers(OLLM, case, key)]
        figure = percentile(values, 0.99)
        if figure is None:
            return None
        return Measured(figure, f"p50 {percentile(values, 0.5):.0f} ms, p99 {figure:.0f} ms")

    return measure


def document_figures() -> list[Figure]:
    """Return the figures of the stalling documents, the worst of all."""
    names = [case.name for case in GROUPS["documents"]]
    return [
        Figure("longest event-loop stall, any document", names,
               worst_of(names, "stall_ms", "ms"), 100, "ms"),
        Figure("key echo p99, all documents", names, tail_over(names, "echo_ms"), 50, "ms"),
        Figure("Esc byte to disconnect, any document", names,
               worst_of(names, "abort_ms", "ms"), 100, "ms"),
        Figure("whole document on the screen, any", names,
               worst_of(names, "shown_s", "s"), 2.0, "s"),
    ]  # fmt: skip


FIGURES: Sequence[Figure] = (
    Figure("start to usable prompt", [STARTUP], against_bare(STARTUP, "usable_s", "s"), 1.3),
    *stream_figures(),
    Figure("key echo p99 at 1,000/s", [ECHO], tail_of(ECHO, "echo_ms"), 50, "ms"),
    Figure("key echo p99, server hangs", [HUNG_ECHO], tail_of(HUNG_ECHO, "echo_ms"), 50, "ms"),
    Figure("longest event-loop stall at 1,000/s", [ECHO], longest(ECHO), 100, "ms"),
    *document_figures(),
    Figure("Esc byte to disconnect, p99", [ABORT], tail_of(ABORT, "abort_ms"), 100, "ms"),
    Figure("scrolling at 200/s, p99", [SCROLL], tail_of(SCROLL, "scroll_ms"), 50, "ms"),
    *opening_figures(),
    Figure("memory after start", [STARTUP], against_bare(STARTUP, "memory_mb", "MB", 0), 2.0),
    Figure("idle CPU", [IDLE], median_of(IDLE, "cpu_percent", "%"), 1.0, "%"),
)
