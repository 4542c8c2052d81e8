"""The frame that dialogs share; its style is read when the first one opens."""

from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual._styles_cache import StylesCache
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType

from ollm_tui.tui.keys.table import display

if TYPE_CHECKING:
    from textual.timer import Timer

REMARK_S: Final = 2.5
LOW = 18
"""On a screen of fewer rows a dialog has no air."""

SUSPEND: Final = Binding(
    "ctrl+z", "app.suspend_process", "Suspend", id="chat.suspend", show=False, priority=True
)
"""Works on every screen; dialogs, which keep keys from the app, have it themselves."""


class LeftOnce(Screen[ScreenResultType]):
    """A screen that takes only itself away, and only once.

    Textual takes away whichever screen lies on top. The key that closes a screen may be handled
    when a question has opened over it, or twice when it was pressed twice.
    """

    _is_left = False
    _leave_with: tuple[ScreenResultType | None] | None = None

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Leave with a result: at once, or as soon as no other screen lies over this one."""
        if self._is_left:
            return AwaitComplete()
        self._is_left = True
        if self.is_active:
            return super().dismiss(result)
        self._leave_with = (result,)
        return AwaitComplete()

    @on(events.ScreenResume)
    def _leave_now(self) -> None:
        if self._leave_with is not None:
            [result] = self._leave_with
            self._leave_with = None
            super().dismiss(result)


class Dialog(LeftOnce[ScreenResultType], ModalScreen[ScreenResultType]):
    """A box in the middle: a title, a body, and a line about it; without air on a low screen."""

    BINDINGS: ClassVar[list[BindingType]] = [SUSPEND]

    def __init__(self) -> None:
        super().__init__()
        self._remark_timer: Timer | None = None
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW, "-high")]

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;

        &:ansi { background: transparent; }
        &:nocolor OptionList > .option-list--option-highlighted { text-style: bold underline; }

        & > Vertical {
            width: 84;
            max-width: 94%;
            background: $surface;
            border: round $border-blurred;
            border-subtitle-color: $text-warning;
            padding: 1 2;
        }
        .title { text-style: bold; color: $text-primary; margin-bottom: 1; }
        #about { color: $text-muted; margin-top: 1; height: auto; max-height: 8; }

        Input, Input:focus {
            border: none;
            background: $panel;
            padding: 0 1;
            margin-bottom: 1;
            height: 1;
        }
        OptionList, OptionList:focus {
            border: none;
            background: transparent;
            padding: 0;
            height: 1fr;
            scrollbar-size-vertical: 1;
            & > .option-list--option-disabled { color: $text-muted; }
            & > .option-list--option-highlighted {
                background: $block-cursor-background;
                color: $block-cursor-foreground;
                text-style: $block-cursor-text-style;
            }
        }

        &.-low {
            & > Vertical { padding: 0 1; max-height: 100%; }
            .title, Input, Input:focus { margin-bottom: 0; }
            #about { margin-top: 0; }
        }
    }
    """

    def on_key(self, event: events.Key) -> None:
        """Say so when a key does nothing: the keys that do something stand in the line above."""
        if event.key not in self.active_bindings:
            shown = event.character if event.is_printable else event.key
            self.remark(f"{display(shown or event.key)} does nothing here")

    def remark(self, words: str) -> None:
        """Show a few words on the lower edge for a moment."""
        self.query(Vertical).first().border_subtitle = Content(words)
        if self._remark_timer is not None:
            self._remark_timer.stop()
        self._remark_timer = self.set_timer(REMARK_S, self._take_remark_away)

    def _take_remark_away(self) -> None:
        if self.query(Vertical):
            self.query(Vertical).first().border_subtitle = None

    @property
    def has_its_parts(self) -> bool:
        """Whether there is something to show it in: not any more once it is closed.

        What was asked for when it opened may be answered then, and changes nothing.
        """
        return bool(self.query("#about"))

    def on_unmount(self) -> None:
        """Let go of what was drawn: Textual keeps the lines of a thousand closed widgets alive.

        It remembers two colours for each by a cache whose keys hold all of the widget's lines.
        """
        StylesCache.get_inner_outer.cache_clear()
