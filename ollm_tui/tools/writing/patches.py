"""Apply a unified diff to a text: every hunk has to fit exactly, at one place only."""

import re
from collections.abc import Sequence
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.writing.diffs import NO_FEED

_HUNK: Final = lazy_re(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@.*")
_FILE: Final = ("--- ", "+++ ")
_HEADERS: Final = ("diff ", "index ", "new file mode ", "old mode ", "new mode ", "similarity ")


@dataclass(slots=True)
class Hunk:
    """Lines that are replaced; each keeps its line feed."""

    start: int
    """Where the lines should begin, from 0."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def add(self, mark: str, line: str) -> None:
        """Add a line of the patch."""
        if mark in " -":
            self.old.append(line)
        if mark in " +":
            self.new.append(line)


def patched(text: str, patch: str) -> str:
    """Return a text with a patch applied.

    Raises:
        ToolFailure: the patch is malformed, or a hunk does not fit.
    """
    lines = _kept(text)
    result: list[str] = []
    done = 0
    hunks = _hunks(patch)
    if not hunks:
        raise ToolFailure("The patch has no hunk: each begins with a line such as @@ -1,3 +1,4 @@.")
    for number, hunk in enumerate(hunks, 1):
        at = _place(lines, hunk, done, number)
        result += lines[done:at]
        result += hunk.new
        done = at + len(hunk.old)
    return "".join([*result, *lines[done:]])


def _kept(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _hunks(patch: str) -> list[Hunk]:
    hunks: list[Hunk] = []
    last = ""
    lines = _patch_lines(patch)
    for at, line in enumerate(lines):
        if (match := _HUNK.fullmatch(line)) is not None:
            count = int(match[2]) if match[2] is not None else 1
            hunks.append(Hunk(max(0, int(match[1]) - (1 if count else 0))))
        elif line == NO_FEED and hunks:
            _without_feed(hunks[-1], last)
        elif not hunks and (line.startswith((*_FILE, *_HEADERS)) or not line.strip()):
            continue
        elif hunks and line[:1] in {" ", "-", "+"}:
            if _begins_file(lines[at : at + 3]):
                raise ToolFailure("The patch changes several files. Send one call for each.")
            hunks[-1].add(line[0], f"{line[1:]}\n")
        elif hunks and not line:
            hunks[-1].add(" ", "\n")  # models leave out the space of an empty line
        else:
            raise ToolFailure(
                f"Line {line[:80]!r} of the patch begins with none of space, -, + and @@."
            )
        last = line[:1]
    return hunks


def _begins_file(lines: Sequence[str]) -> bool:
    """Return whether another file begins; a removed line may begin with two dashes, too."""
    return [line[:3] for line in lines] == ["---", "+++", "@@ "]


def _patch_lines(patch: str) -> list[str]:
    lines = patch.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _without_feed(hunk: Hunk, mark: str) -> None:
    sides = {"-": (hunk.old,), "+": (hunk.new,)}.get(mark, (hunk.old, hunk.new))
    for side in sides:
        if side:
            side[-1] = side[-1].removesuffix("\n")


def _place(lines: Sequence[str], hunk: Hunk, done: int, number: int) -> int:
    """Return where a hunk fits: at its line, else at the only place behind the last one."""
    size = len(hunk.old)
    if not size:
        if hunk.start > len(lines) or hunk.start < done:
            raise ToolFailure(f"Hunk {number} of the patch begins behind the end of the file.")
        return hunk.start
    if hunk.start >= done and list(lines[hunk.start : hunk.start + size]) == hunk.old:
        return hunk.start
    first = hunk.old[0]
    places = [
        at
        for at in range(done, len(lines) - size + 1)
        if lines[at] == first and list(lines[at : at + size]) == hunk.old
    ]
    if len(places) == 1:
        return places[0]
    why = "fits nowhere" if not places else f"fits at {len(places)} places"
    raise ToolFailure(
        f"Hunk {number} of the patch {why}. Read the file again, and copy its lines exactly."
    )
