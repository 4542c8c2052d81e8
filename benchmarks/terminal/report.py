"""The tables: figures with their limits, and all programs side by side."""

from collections.abc import Iterable, Sequence

from benchmarks.terminal.cases import ECHO, GROUPS, STARTUP, stream_name
from benchmarks.terminal.figures import FIGURES, LIMITS_SET_AT_S, Figure, Verdict, slowness
from benchmarks.terminal.measuring import Measured
from benchmarks.terminal.programs import OLLM
from benchmarks.terminal.quiet import BUSY, OTHERS
from benchmarks.terminal.rows import Rows, percentile

HEAD = ("what", "ollm", "reference", "figure", "limit", "")
PROGRAMS_HEAD = (
    "program",
    "start, s",
    "memory, MB",
    "CPU ms/token, 1k at 200/s",
    "CPU ms/token, 5k at 1,000/s",
    "lag at 1,000/s, s",
    "bytes/token",
    "key echo at 1,000/s, p50 / p99 ms",
)
DOCUMENTS_HEAD = (
    "document",
    "stall, ms",
    "work in it, ms",
    "key echo p50, ms",
    "longest echo, ms",
    "Esc to disconnect, ms",
    "whole on the screen, s",
)
NOTHING = "-"
REACHED, MISSED, NOT_JUDGED = 0, 1, 3
"""Exit statuses; 2 is that of a wrong command line."""


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def figures_run(rows: Rows, figures: Sequence[Figure] = FIGURES) -> list[Figure]:
    """Return the figures whose cases were run, well or not."""
    ran = {row.case for row in rows.all}
    return [figure for figure in figures if ran.issuperset(figure.cases)]


def figures_table(rows: Rows, figures: Sequence[Figure] = FIGURES) -> str:
    """Write the figures that were run with their limits and verdicts."""
    return markdown(
        HEAD, (_line(figure, *figure.judged(rows)) for figure in figures_run(rows, figures))
    )


def exit_status(rows: Rows, figures: Sequence[Figure] = FIGURES) -> int:
    """Return whether what was run is within its limits, or could not be judged."""
    verdicts = {figure.judged(rows)[1] for figure in figures_run(rows, figures)}
    if verdicts & {"MISSED", "not measured"}:
        return MISSED
    return NOT_JUDGED if "not judged" in verdicts else REACHED


def quiet_report(rows: Rows) -> str:
    """Say why figures were not judged, if the machine was not quiet or is slow."""
    lines = []
    if not rows.began_quiet:
        lines.append(
            f"Nothing is judged: the load was {rows.load_before:.1f} before the run, over {BUSY}."
        )
    if noisy := rows.noisy:
        most = max(noisy, key=lambda row: row.others or 0.0)
        lines.append(
            f"Others used more than {OTHERS:.0%} of a processor in {len(noisy)} of {len(rows.all)}"
            f" runs, up to {most.others:.0%} ({most.case}, round {most.round + 1}, {most.program})."
            " Those rounds are left out where enough are left."
        )
    if (times := slowness(rows)) > 1.0:
        lines.append(
            f"This machine is {times:.1f} times as slow as the one on which limits in ms and s were"
            f" set: bare Textual started there in {LIMITS_SET_AT_S} s."
            " What is over such a limit by less than that is not judged, nor is a ratio to bare"
            " Textual where that skipped frames."
        )
    return "\n".join(lines)


def _line(figure: Figure, measured: Measured | None, verdict: Verdict) -> Sequence[str]:
    limit = NOTHING if figure.limit is None else f"{figure.limit:g} {figure.unit}"
    if measured is None:
        return (figure.what, NOTHING, NOTHING, NOTHING, limit, verdict)
    value = f"{measured.figure:.2f} {figure.unit}"
    if measured.low is not None and measured.high is not None and measured.low < measured.high:
        value += f" ({measured.low:.2f} to {measured.high:.2f})"
    return (figure.what, measured.ours, measured.theirs or NOTHING, value, limit, verdict)


def programs_table(rows: Rows) -> str:
    """Write all programs side by side; empty when nothing was run that they are compared by."""
    compared = {STARTUP, ECHO, stream_name(1000, 200), stream_name(5000, 1000)}
    names = list(dict.fromkeys(row.program for row in rows.all if row.case in compared))
    if not names:
        return ""
    return markdown(PROGRAMS_HEAD, (_program(rows, name) for name in names))


def documents_table(rows: Rows) -> str:
    """Write what each stalling document did; empty when none was run."""
    ran = {row.case for row in rows.all}
    names = [case.name for case in GROUPS["documents"] if case.name in ran]
    return markdown(DOCUMENTS_HEAD, (_document(rows, name) for name in names)) if names else ""


def _document(rows: Rows, name: str) -> Sequence[str]:
    echoes = rows.numbers(OLLM, name, "echo_ms")
    return (
        name.removeprefix("document "),
        _number(rows.largest(OLLM, name, "stall_ms"), 0),
        _number(rows.largest(OLLM, name, "stall_cpu_ms"), 0),
        _number(percentile(echoes, 0.5), 0),
        _number(max(echoes, default=None), 0),
        _number(max(rows.numbers(OLLM, name, "abort_ms"), default=None), 0),
        _number(rows.largest(OLLM, name, "shown_s"), 2),
    )


def _program(rows: Rows, name: str) -> Sequence[str]:
    slow, fast = stream_name(1000, 200), stream_name(5000, 1000)
    echoes = rows.every(name, ECHO, "echo_ms")
    return (
        name,
        _number(rows.median(name, STARTUP, "usable_s"), 2),
        _number(rows.median(name, STARTUP, "memory_mb"), 0),
        _number(rows.median(name, slow, "cpu_ms_per_token"), 2),
        _number(rows.median(name, fast, "cpu_ms_per_token"), 2),
        _number(rows.median(name, fast, "lag_s"), 2),
        _number(rows.median(name, fast, "bytes_per_token"), 0),
        f"{_number(percentile(echoes, 0.5), 0)} / {_number(percentile(echoes, 0.99), 0)}"
        if echoes
        else NOTHING,
    )


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
