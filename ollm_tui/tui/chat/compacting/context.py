"""How full the model's context window is, and the remedies, each on a key."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, Literal, TypeAlias, assert_never

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.session import ChatSession
from ollm_tui.runtime.measure import ContextFigures
from ollm_tui.tokens.limits import (
    ContextRemedy,
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    SendEverything,
    WindowSource,
)
from ollm_tui.tui.chat.compacting.flow import CompactionController
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.dialogs import WAITING, ArmedDialog, Dialogs, Passage, Reading
from ollm_tui.tui.services import Say

NEW_CHAT: Final = "new"
COMPACT: Final = "compact"
_ROWS_AROUND: Final = 14
_SOURCES: Final[Mapping[WindowSource, str]] = {
    "settings": "set in the settings",
    "request": "set by num_ctx",
    "engine": "reported by the engine",
    "family": "known of its family, not reported",
    "assumed": "assumed, not reported",
}
_KEYS: Final[Mapping[type[ContextRemedy], str]] = {
    LeaveOutTurns: "l",
    RaiseWindow: "w",
    DropAttachments: "d",
    SendEverything: "s",
}
RemedyChoice: TypeAlias = ContextRemedy | Literal["new", "compact"] | None


class ContextFull(ArmedDialog[RemedyChoice]):
    """Returns the chosen remedy; the user may be typing again when everything is counted."""

    CONSENTS: ClassVar[frozenset[str]] = frozenset("clwdsn")

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
        self,
        figures: ContextFigures,
        *,
        can_compact: bool = False,
        is_saved: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show figures; `can_compact`: there are older messages that could be summarised.

        Which messages of a saved chat are left out is shown before it counts.
        """
        super().__init__(clock=clock)
        self._figures = figures
        self._can_compact, self._is_saved = can_compact, is_saved
        self._remedies = keyed_remedies(figures.ways)

    def compose(self) -> ComposeResult:
        """Lay out the figures and the remedies."""
        with Vertical():
            yield Static("Context", classes="title")
            yield Static(Content("\n".join(context_lines(self._figures))), id="figures")
            parts = Passage("What takes the room", "\n".join(part_lines(self._figures)))
            rows = len(self._remedies) + self._can_compact
            yield Reading([parts], margin=_ROWS_AROUND + rows)
            ways = remedies_content(
                self._remedies, can_compact=self._can_compact, is_saved=self._is_saved
            )
            yield Static(ways, id="ways")
            yield Static(Content(WAITING), id="about")

    @property
    def is_read(self) -> bool:
        """Whether a remedy may be chosen: the figures need not be read to their end."""
        return True

    def keys(self) -> Content:
        """Return how to choose."""
        return Content("Type a letter to choose, or Esc to close.")

    def answer(self, event: events.Key) -> bool:
        """Choose a remedy, or none."""
        choice: RemedyChoice
        letter = event.character or ""
        choice = NEW_CHAT if letter == "n" else self._remedies.get(letter)
        if letter == "c" and self._can_compact:
            choice = COMPACT
        if choice is None and event.key not in {"enter", "q"}:
            return False
        self.dismiss(choice)
        return True

    def refuse(self) -> None:
        """Close it and change nothing."""
        self.dismiss(None)


def context_lines(figures: ContextFigures) -> list[str]:
    """Return lines about how much of the window is used, and where its size is from."""
    share = 100 * figures.used / max(1, figures.limit)
    about = "about " if figures.estimated else ""
    return [
        f"{about}{figures.used:,} of {figures.limit:,} tokens ({share:.0f} %)".capitalize(),
        f"Window size: {_SOURCES[figures.source]}.",
    ]


def part_lines(figures: ContextFigures) -> list[str]:
    """Return a line for each part of the context, with its tokens."""
    return [f"{tokens:>9,}  {clean_line(what)}" for what, tokens in figures.parts]


def keyed_remedies(remedies: Sequence[ContextRemedy]) -> Mapping[str, ContextRemedy]:
    """Return each remedy by its key."""
    return {_KEYS[type(remedy)]: remedy for remedy in remedies}


def remedies_content(
    remedies: Mapping[str, ContextRemedy], *, can_compact: bool = False, is_saved: bool = False
) -> Content:
    """Return the remedies, one a line."""
    shown_first = "Leave out the oldest messages"
    rows = [
        (key, shown_first if is_saved and isinstance(one, LeaveOutTurns) else _sentence(one))
        for key, one in remedies.items()
    ]
    if can_compact:
        rows.insert(0, ("c", "Summarise the older messages"))
    return Content("\n").join(
        Content.assemble((key, "bold $text-accent"), f"  {words}")
        for key, words in (*rows, ("n", "Start a new chat"))
    )


def _sentence(remedy: ContextRemedy) -> str:
    match remedy:
        case LeaveOutTurns(turns=turns):
            them = "oldest question and its answer" if turns == 1 else f"{turns} oldest questions"
            return f"Leave out the {them} (frees {counted(remedy.plan.freed, 'token')})"
        case RaiseWindow():
            return f"Load the model with a window of {remedy.num_ctx:,} tokens (num_ctx)"
        case DropAttachments():
            rest = "" if remedy.fits else ", which is not enough by itself"
            them, freed = counted(remedy.count, "attachment"), counted(remedy.freed, "token")
            return f"Leave out {them} (about {freed}{rest})"
        case SendEverything():
            return "Send everything again"
        case _:
            assert_never(remedy)


@dataclass(frozen=True, slots=True)
class ContextRemedies:
    """Shows the figures and applies the remedy that is chosen."""

    session: ChatSession
    status: StatusPresenter
    dialogs: Dialogs
    say: Say
    new_chat: Callable[[], None]
    compacting: CompactionController

    def show(self) -> None:
        """Count, then show."""
        self.dialogs.run(report_errors(self._measure(), self.say), "context")

    async def _measure(self) -> None:
        figures = await self.session.runtime.measure(self.session.client.conversation)
        self.status.show_context()
        compacting = self.compacting
        dialog = ContextFull(
            figures, can_compact=compacting.can_compact, is_saved=compacting.is_saved
        )
        self.dialogs.open(dialog, self._apply)

    def _apply(self, choice: RemedyChoice) -> None:
        if choice is None:
            return
        if choice == NEW_CHAT:
            self.new_chat()
            return
        if choice == COMPACT:
            self.compacting.start()
            return
        if isinstance(choice, LeaveOutTurns) and self.compacting.is_saved:
            self.compacting.leave_out()  # which a saved chat keeps when it is opened again
            return
        self.session.runtime.apply_remedy(self.session.client.conversation, choice)
        self.say(_done(choice))
        self.status.show_session()
        if choice != SendEverything():
            self.compacting.retry_failed()


def _done(remedy: ContextRemedy) -> str:
    match remedy:
        case LeaveOutTurns():
            them = "question is" if remedy.turns == 1 else f"{remedy.turns} questions are"
            return f"The oldest {them} no longer sent; the chat keeps everything."
        case RaiseWindow():
            window = f"{remedy.num_ctx:,}"
            return f"The model loads with a window of {window} tokens for the next prompt."
        case DropAttachments():
            return "Attachments are no longer sent; the chat keeps them."
        case SendEverything():
            return "The whole chat is sent again."
