"""What takes the room in the model's window, and the ways out, each on a key."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias, assert_never

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.tokens.budget import (
    ContextRemedy,
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    SendEverything,
)
from ollm_tui.tokens.limits import WindowSource
from ollm_tui.tui.capabilities import ContextFigures
from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog
from ollm_tui.tui.dialogs.reading import Passage, Reading

NEW_CHAT: Final = "new"
_ROWS_AROUND: Final = 14
_SOURCES: Final[Mapping[WindowSource, str]] = MappingProxyType(
    {
        "settings": "set in the settings",
        "request": "set by num_ctx",
        "engine": "reported by the engine",
        "assumed": "assumed, not reported",
    }
)
RemedyChoice: TypeAlias = ContextRemedy | Literal["new"] | None


class ContextFull(ArmedDialog[RemedyChoice]):
    """Gives the way out that was chosen.

    It opens when all is counted, which may take a while, and then somebody may be typing again.
    """

    CONSENTS: ClassVar[frozenset[str]] = frozenset("lwdsn")

    DEFAULT_CSS = """
    ContextFull {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #figures, #ways { height: auto; }
        #figures { margin-bottom: 1; }
        #ways { margin-top: 1; }
        &.-low #figures { margin-bottom: 0; }
        &.-low #ways { margin-top: 0; }
    }
    """

    def __init__(
        self, figures: ContextFigures, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        self._figures = figures
        self._ways = keyed_ways(figures.ways)

    def compose(self) -> ComposeResult:
        """Lay out the figures and the ways out."""
        with Vertical():
            yield Static("Context", classes="title")
            yield Static(Content("\n".join(context_lines(self._figures))), id="figures")
            parts = Passage("What takes the room", "\n".join(part_lines(self._figures)))
            yield Reading([parts], margin=_ROWS_AROUND + len(self._ways))
            yield Static(ways_content(self._ways), id="ways")
            yield Static(Content(WAITING), id="about")

    @property
    def is_read(self) -> bool:
        """Whether a way out may be taken: the figures need not be read to their end."""
        return True

    def keys(self) -> Content:
        """Say how to choose."""
        return Content("Type a letter to choose, or Esc to close.")

    def answer(self, event: events.Key) -> bool:
        """Take a way out, or none."""
        choice: RemedyChoice = NEW_CHAT if event.character == "n" else None
        if choice is None and event.key not in {"enter", "q"}:
            choice = self._ways.get(event.character or "")
            if choice is None:
                return False
        self.dismiss(choice)
        return True

    def refuse(self) -> None:
        """Close it and change nothing."""
        self.dismiss(None)


def context_lines(figures: ContextFigures) -> list[str]:
    """Write what is used of which window, and who says so."""
    share = 100 * figures.used / max(1, figures.limit)
    about = "about " if figures.estimated else ""
    return [
        f"{about}{figures.used:,} of {figures.limit:,} tokens ({share:.0f} %)".capitalize(),
        f"Window size: {_SOURCES[figures.source]}.",
    ]


def part_lines(figures: ContextFigures) -> list[str]:
    """Write what takes the room, one part a line."""
    return [f"{tokens:>9,}  {clean_line(what)}" for what, tokens in figures.parts]


def keyed_ways(ways: Sequence[ContextRemedy]) -> Mapping[str, ContextRemedy]:
    """Give each way out its key."""
    return {_key(way): way for way in ways}


def _key(way: ContextRemedy) -> str:
    match way:
        case LeaveOutTurns():
            return "l"
        case RaiseWindow():
            return "w"
        case DropAttachments():
            return "d"
        case SendEverything():
            return "s"
        case _:
            assert_never(way)


def ways_content(ways: Mapping[str, ContextRemedy]) -> Content:
    """Write the ways out, one a line."""
    rows = [(key, _sentence(way)) for key, way in ways.items()]
    return Content("\n").join(
        Content.assemble((key, "bold $text-accent"), f"  {words}")
        for key, words in (*rows, ("n", "Start a new chat"))
    )


def _sentence(way: ContextRemedy) -> str:
    match way:
        case LeaveOutTurns(turns=1):
            freed = counted(way.plan.freed, "token")
            return f"Leave out the oldest question and its answer (frees {freed})"
        case LeaveOutTurns():
            freed = counted(way.plan.freed, "token")
            return f"Leave out the {way.turns} oldest questions (frees {freed})"
        case RaiseWindow():
            return f"Load the model with a window of {way.num_ctx:,} tokens (num_ctx)"
        case DropAttachments():
            rest = "" if way.fits else ", which is not enough by itself"
            them, freed = counted(way.count, "attachment"), counted(way.freed, "token")
            return f"Leave out {them} (about {freed}{rest})"
        case SendEverything():
            return "Send everything again"
        case _:
            assert_never(way)
