"""The figures to reach, each out of the rows, with its limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchmarks.terminal.cases import (
    ABORT,
    ECHO,
    GROUPS,
    HUNG_ECHO,
    IDLE,
    IDLE_ECHO,
    JUDGED,
    PRINTING,
    SCROLL,
    STARTUP,
    STREAMS,
    VERSIONS,
    opening_name,
    stream_name,
    words_name,
)
from benchmarks.terminal.commands import BARE_BINARY, CODEX, LLM
from benchmarks.terminal.measuring import (
    Measure,
    Measured,
    against,
    cpu_against_bare,
    longest,
    median_of,
    own_ratio,
    tail_of,
    tail_over,
    worst_of,
)
from benchmarks.terminal.programs import BARE, OLLM
from benchmarks.terminal.rows import Rows
from benchmarks.terminal.scenarios.startup import EMPTY

Verdict: TypeAlias = Literal["ok", "MISSED", "not measured", "not judged", "not there", ""]
TIMES = frozenset({"ms", "s"})
"""Units of limits that a slower machine passes sooner; ratios it does not change."""
LIMITS_SET_AT_S = 0.21
"""How long bare Textual took to start on the machine on which those limits were set."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    cases: Sequence[str]
    """The cases it needs; it is left out when none of them was run."""
    measure: Measure
    limit: float | None = None
    """The most that is good; None where a figure only informs."""
    unit: str = "times"
    rounds: int = 1
    """In how many quiet rounds it has to be measured to be held to the limit."""
    rival: str = ""
    """The peer that it compares with, which may not be there."""

    def verdict(self, measured: Measured | None) -> Verdict:
        """Hold what was measured to the limit."""
        if measured is None:
            return "not measured"
        if self.limit is None:
            return ""
        return "ok" if measured.figure <= self.limit else "MISSED"

    def judged(self, rows: Rows) -> tuple[Measured | None, Verdict]:
        """Measure in the quiet rounds and hold it to the limit; without enough of them in all.

        A time over its limit is not judged if the machine is slower by as much, nor is a ratio to
        a reference that skipped frames.
        """
        if self.rival and not rows.has(self.rival):
            return None, "not there"
        quiet = rows.quiet()
        is_enough = min(quiet.rounds(case, OLLM) for case in self.cases) >= self.rounds
        measured = self.measure(quiet if is_enough else rows)
        verdict = self.verdict(measured)
        if measured is None or verdict not in {"ok", "MISSED"}:
            return measured, verdict
        if not (is_enough and rows.began_quiet):
            return measured, "not judged"
        is_missed = verdict == "MISSED" and not self._may_be_the_machine(measured, rows)
        return measured, verdict if verdict == "ok" or is_missed else "not judged"

    def _may_be_the_machine(self, measured: Measured, rows: Rows) -> bool:
        """Whether a faster machine might have given a figure within the limit."""
        if self.limit is None or self.unit not in TIMES:
            return not measured.is_comparable
        return measured.figure <= self.limit * slowness(rows)


def slowness(rows: Rows) -> float:
    """Return how many times as slow the machine is as the one on which limits were set, or 1.

    It is 1 as well where bare Textual's start was not measured.
    """
    start_s = rows.quiet().median(BARE, STARTUP, "usable_s")
    return max(1.0, start_s / LIMITS_SET_AT_S) if start_s else 1.0


def stream_figures() -> list[Figure]:
    """Return the figures of streamed answers: those with a limit, then what else was streamed."""
    one, five = stream_name(1000, 200), stream_name(5000, 1000)
    long, short, unlimited = (
        stream_name(20_000, 1000),
        stream_name(1000, 1000),
        stream_name(5000, 0),
    )
    cpu, judged, beside = "cpu_ms_per_token", {one, five}, (BARE, CODEX)
    figures = [
        Figure(f"CPU per token, {case.name}", [case.name], cpu_against_bare(case.name),
               0.15 if case.name in judged else None, rounds=JUDGED if case.name in judged else 1)
        for case in STREAMS
    ]  # fmt: skip
    return [
        *figures,
        Figure("growth: CPU per token of 20k over 1k", [long, short],
               own_ratio(long, short, cpu, "ms"), 1.2, rounds=JUDGED),
        Figure("lag of the last word, unlimited", [unlimited],
               against(BARE, unlimited, "lag_s", "s", 3), 0.3),
        Figure("lag of the last word at 200/s", [one],
               median_of(one, "lag_s", "ms", 1000, beside), 12, "ms", JUDGED),
        Figure("lag of the last word at 1,000/s", [five],
               median_of(five, "lag_s", "ms", 1000, beside), 12, "ms", JUDGED),
        Figure("first word whole on the screen at 200/s", [one],
               median_of(one, "first_token_s", "ms", 1000, beside), 15, "ms", JUDGED),
        Figure("bytes to the terminal a token at 200/s", [one],
               against(CODEX, one, "bytes_per_token", "bytes", 0), 1.0, rounds=JUDGED, rival=CODEX),
        Figure("memory after 20k tokens", [long],
               against(BARE, long, "pss_mb", "MB", 0), 0.7, rounds=JUDGED),
    ]  # fmt: skip


def word_figures() -> list[Figure]:
    """Return the figures of the words inside an answer."""
    limits = ((50, 0.99, 15), (100, 0.5, 6), (200, 0.5, 25), (200, 0.99, 45))
    return [
        Figure(f"lag of the words inside an answer at {rate}/s, p{100 * share:.0f}",
               [words_name(rate)], tail_of(words_name(rate), "word_ms", share, (BARE, CODEX)),
               limit, "ms")
        for rate, share, limit in limits
    ]  # fmt: skip


def startup_figures() -> list[Figure]:
    """Return the figures of the start, of the app and of commands."""
    return [
        Figure("start to a typed character", [STARTUP],
               against(BARE, STARTUP, "usable_s", "s"), 0.7, rounds=JUDGED),
        Figure("start to a typed character, against codex", [STARTUP],
               against(CODEX, STARTUP, "usable_s", "s"), 1.0, rounds=JUDGED, rival=CODEX),
        Figure("memory after start", [STARTUP],
               against(BARE, STARTUP, "pss_mb", "MB", 0), 1.3, rounds=JUDGED),
        Figure("`ollm --version`", [VERSIONS],
               against(CODEX, VERSIONS, "whole_s", "ms", 0, 1000), 1.0, rounds=JUDGED, rival=CODEX),
        Figure("`ollm --version`, against codex without its launcher", [VERSIONS],
               against(CODEX, VERSIONS, "whole_s", "ms", 0, 1000, their_key=BARE_BINARY),
               rival=CODEX),
        Figure("`ollm -p` to the first byte", [PRINTING],
               against(LLM, PRINTING, "first_byte_s", "s"), 0.5, rounds=JUDGED, rival=LLM),
        Figure("`ollm -p`, CPU in all", [PRINTING],
               against(LLM, PRINTING, "cpu_s", "s"), 0.5, rounds=JUDGED, rival=LLM),
    ]  # fmt: skip


def key_figures() -> list[Figure]:
    """Return the figures of keys: their echo, Esc, scrolling."""
    beside = (BARE, CODEX)
    return [
        Figure("key echo p99, idle", [IDLE_ECHO],
               tail_of(IDLE_ECHO, "echo_ms", others=beside), 5, "ms", JUDGED),
        Figure("key echo p99 at 1,000/s", [ECHO],
               tail_of(ECHO, "echo_ms", others=beside), 10, "ms", JUDGED),
        Figure("key echo p99, server hangs", [HUNG_ECHO], tail_of(HUNG_ECHO, "echo_ms"), 50, "ms"),
        Figure("longest event-loop stall at 1,000/s", [ECHO], longest(ECHO), 100, "ms"),
        Figure("Esc byte to disconnect, p50", [ABORT],
               tail_of(ABORT, "abort_ms", 0.5, [CODEX]), 6, "ms", JUDGED),
        Figure("Esc byte to disconnect, p99", [ABORT],
               tail_of(ABORT, "abort_ms", 0.99, [CODEX]), 15, "ms", JUDGED),
        Figure("scrolling at 200/s, p99", [SCROLL], tail_of(SCROLL, "scroll_ms"), 50, "ms"),
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
    *startup_figures(),
    *stream_figures(),
    *word_figures(),
    *key_figures(),
    *document_figures(),
    *opening_figures(),
    Figure("idle CPU", [IDLE], median_of(IDLE, "cpu_percent", "%"), 1.0, "%"),
)
