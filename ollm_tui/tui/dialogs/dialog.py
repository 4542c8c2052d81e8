"""The base of all dialogs and of screens that return a result."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events, on
from textual._styles_cache import StylesCache
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType

from ollm_tui.tui.keys import display_key
from ollm_tui.tui.widgets import StyledOnce

if TYPE_CHECKING:
    from textual.timer import Timer

REMARK_S: Final = 2.5
LOW_SCREEN = 18
"""On a screen of fewer rows a dialog has no padding."""

SUSPEND: Final = Binding(
    "ctrl+z", "app.suspend_process", "Suspend", id="chat.suspend", show=False, priority=True
)
"""Works on every screen; dialogs have it too, as they keep keys from the app."""


class LeftOnce(StyledOnce[ScreenResultType]):
    """A screen that dismisses only itself, and only once.

    Textual dismisses the screen on top. The key that closes a screen may be handled after a dialog
    has opened over it, or twice if it was pressed twice.
    """

    _is_left = False
    _leave_with: tuple[ScreenResultType | None] | None = None

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Return a result: at once, or as soon as no other screen lies over this one."""
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

    def on_unmount(self) -> None:
        """Clear a cache of Textual that keeps the lines of a thousand closed widgets alive."""
        StylesCache.get_inner_outer.cache_clear()


class DialogOpener:
    """Opens dialogs over one screen, for parts of it that know only this."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    @property
    def can_open(self) -> bool:
        """Whether the screen is visible."""
        return self._screen.is_current

    async def ask(self, dialog: Screen[ScreenResultType]) -> ScreenResultType | None:
        """Open a dialog and return its answer; None if the screen is not visible."""
        if not self.can_open:
            return None
        answer: ScreenResultType = await self._screen.app.push_screen_wait(dialog)
        return answer

    def show(
        self, dialog: Screen[ScreenResultType], answered: Callable[[ScreenResultType | None], None]
    ) -> None:
        """Open a dialog and call `answered` with its answer."""
        self._screen.app.push_screen(dialog, answered)


class Dialog(LeftOnce[ScreenResultType], ModalScreen[ScreenResultType]):
    """A centred box with a title, a body and a line about it; without padding on a low screen."""

    BINDINGS: ClassVar[list[BindingType]] = [SUSPEND]

    def __init__(self) -> None:
        super().__init__()
        self._remark_timer: Timer | None = None
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW_SCREEN, "-high")]

    DEFAULT_CSS = """
    Dialog {
        align: center middle; background: $background 60%;

        &:ansi { background: transparent; }
        &:nocolor OptionList > .option-list--option-highlighted { text-style: bold underline; }

        & > Vertical {
            width: 84; max-width: 94%; background: $surface; border: round $border-blurred;
            border-subtitle-color: $text-warning; padding: 1 2;
        }
        .title { text-style: bold; color: $text-primary; margin-bottom: 1; }
        #about { color: $text-muted; margin-top: 1; height: auto; max-height: 8; }

        Input, Input:focus {
            border: none; background: $panel; padding: 0 1; margin-bottom: 1; height: 1;
        }
        OptionList, OptionList:focus {
            border: none; background: transparent; padding: 0; height: 1fr;
            scrollbar-size-vertical: 1;
            & > .option-list--option-disabled { color: $text-muted; }
            & > .option-list--option-highlighted {
                background: $block-cursor-background; color: $block-cursor-foreground;
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
        """Show that a key does nothing."""
        if event.key not in self.active_bindings:
            shown = event.character if event.is_printable else event.key
            self.remark(f"{display_key(shown or event.key)} does nothing here")

    def remark(self, words: str) -> None:
        """Show a few words on the lower border for a moment."""
        self.query(Vertical).first().border_subtitle = Content(words)
        if self._remark_timer is not None:
            self._remark_timer.stop()
        self._remark_timer = self.set_timer(REMARK_S, self._take_remark_away)

    def _take_remark_away(self) -> None:
        if self.query(Vertical):
            self.query(Vertical).first().border_subtitle = None

    @property
    def has_its_parts(self) -> bool:
        """Whether its widgets exist: not once it is closed, when late answers may still arrive."""
        return bool(self.query("#about"))
