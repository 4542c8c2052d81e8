"""The lines of the list of downloads, for a given width; pure."""

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.download_news import MAX_LENGTH, ShownName, title_of
from ollm_tui.frontend.figures import amount, time_left
from ollm_tui.tui.widgets import Piece, cut, fit

if TYPE_CHECKING:
    from ollm_tui.library.downloads.job import Job, JobState

_STATES: Final["Mapping[JobState, tuple[str, str, str]]"] = {
    "queued": ("·", "quiet", "queued"),
    "running": ("↓", "busy", ""),
    "paused": ("‖", "warning", "paused"),
    "done": ("✓", "done", "done"),
    "failed": ("✗", "error", "failed"),
    "cancelled": ("■", "quiet", "cancelled"),
}
"""The sign of a state, its look and its word."""
_MIN_TITLE_WIDTH, _MAX_TITLE_LENGTH = 12, 32
_AMOUNT_CELLS: Final = 17
_NARROW, _WIDE = 64, 100
"""In fewer cells there is no bar; from so many on it is long, and figures have units."""
_INDENT: Final = 4
_GAP: Final = 2
_PROBLEM_LINES: Final = 2
_LEAST_FIRST: Final = ("note", "rate", "left")
"""What is left out first if there is no room; half a figure would mislead."""


def job_lines(job: "Job", width: int, shown_name: ShownName) -> list[list[Piece]]:
    """Return the line of a job, and below it what went wrong and what to do about it."""
    sign, look, _word = _STATES[job.state]
    title_cells = max(_MIN_TITLE_WIDTH, min(_MAX_TITLE_LENGTH, width // 3))
    bar_cells = 0 if width < _NARROW else 10 if width < _WIDE else 20
    line = [
        Piece(f" {sign} ", look),
        Piece(fit(title_of(job, shown_name), title_cells)),
        *(_bar(job, bar_cells) if bar_cells else []),
    ]
    facts = _facts(job, width - sum(piece.width for piece in line), is_wide=width >= _WIDE)
    return [_cut_line([*line, *facts], width), *_problem_lines(job, width)]


def _facts(job: "Job", room: int, *, is_wide: bool) -> list[Piece]:
    facts: dict[str, Piece] = {}
    if job.completed or job.total is not None:
        text = amount(job.completed, job.total)
        facts["amount"] = Piece(f"{text:<{_AMOUNT_CELLS}}" if is_wide else text)
    if job.state == "running":
        facts |= _pace(job, is_wide=is_wide)
    _sign, look, word = _STATES[job.state]
    if word:
        facts["state"] = Piece(word, look)
    if job.is_elsewhere:
        facts["elsewhere"] = Piece("in another window", "warning")
    if note := clean_line(job.note[:MAX_LENGTH]).strip():
        facts["note"] = Piece(note, "quiet")
    # a note on a stalled download is cut, but stays
    for least in _LEAST_FIRST if "rate" in facts else ():
        if sum(piece.width + _GAP for piece in facts.values()) > room:
            facts.pop(least, None)
    return [piece for fact in facts.values() for piece in (Piece(" " * _GAP), fact)]


def _pace(job: "Job", *, is_wide: bool) -> dict[str, Piece]:
    pace = {}
    if job.bytes_per_s is not None and math.isfinite(job.bytes_per_s):
        pace["rate"] = Piece(f"{size_text(max(0, round(job.bytes_per_s)))}/s", "quiet")
    if job.seconds_left is not None and math.isfinite(job.seconds_left):
        words = f"{time_left(max(0.0, job.seconds_left))}{' left' if is_wide else ''}"
        pace["left"] = Piece(words, "quiet")
    return pace


def _bar(job: "Job", cells: int) -> list[Piece]:
    fraction = 1.0 if job.state == "done" else job.fraction or 0.0
    full = min(cells, math.floor(fraction * cells))
    return [Piece("  "), Piece("▮" * full, "bar"), Piece("▯" * (cells - full), "quiet")]


def _problem_lines(job: "Job", width: int) -> list[list[Piece]]:
    if job.error is None or job.state == "done":
        return []
    words = " ".join(filter(None, (job.error.message, job.error.hint)))
    room = max(8, width - _INDENT)
    lines = wrap(clean_line(words[:MAX_LENGTH]), room) or [""]
    if len(lines) > _PROBLEM_LINES:
        lines = [*lines[: _PROBLEM_LINES - 1], " ".join(lines[_PROBLEM_LINES - 1 :])]
    return [[Piece(" " * _INDENT), Piece(cut(line, room), "error")] for line in lines]


def _cut_line(line: Sequence[Piece], width: int) -> list[Piece]:
    """Return the pieces that fit; the one at the edge is cut."""
    kept: list[Piece] = []
    for piece in line:
        if width > 0:
            kept.append(
                piece if piece.width <= width else Piece(cut(piece.text, width), piece.look)
            )
        width -= piece.width
    return kept


def progress_word(jobs: "Sequence[Job]") -> str:
    """Return the progress of the running downloads in a few cells; empty if none runs."""
    running = [job for job in jobs if job.state == "running" and not job.is_elsewhere]
    if not running:
        return ""
    many = f"{len(running)} · " if len(running) > 1 else ""
    completed = sum(job.completed for job in running)
    totals = [job.total for job in running if job.total]
    if len(totals) < len(running):
        return f"↓ {many}{size_text(completed)}"
    return f"↓ {many}{math.floor(100 * min(1.0, completed / sum(totals)))} %"
