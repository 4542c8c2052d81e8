"""`OllmApp`: screens, theme, keymap, crash handler; nothing else."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome, NoColor
from textual.widgets import Input, OptionList, TextArea

from ollm_tui.tui.chat import ChatScreen
from ollm_tui.tui.crash import CrashReports
from ollm_tui.tui.dialogs import SUSPEND
from ollm_tui.tui.keys import with_overrides
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import KeptPicture, set_title
from ollm_tui.tui.theming import DEFAULT_THEME, ThemeCatalog, ThemeProblem
from ollm_tui.tui.widgets import FLASH_S, ShownAgain, obey_own_binding, take_waiting


class OllmApp(CrashReports[None], inherit_bindings=False):
    """The full-screen chat."""

    TITLE = "ollm"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [SUSPEND]
    ENABLE_COMMAND_PALETTE = False  # the chat screen opens it, filled with its own entries

    def __init__(
        self,
        services: Services,
        theme: str = DEFAULT_THEME,
        *,
        driver_class: type[Driver] | None = None,
        crash_directory: Path | None = None,
        is_animated: bool = True,
        kept_picture: KeptPicture | None = None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        self.crash_directory = crash_directory
        if not is_animated:
            self.animation_level = "none"
        self._services = services
        self._kept_picture = kept_picture
        self._no_color = NoColor()
        self._held: list[events.Event] | None = []
        keymap = with_overrides(services.keymap)
        self._problems = [*services.problems, *keymap.problems]
        self._put_on(services.themes, theme)
        self.set_keymap(dict(keymap.chosen))

    def _put_on(self, themes: ThemeCatalog, name: str) -> None:
        try:
            theme = themes.load(name)
        except ThemeProblem as problem:
            self._problems.append(str(problem))
            theme = themes.load(DEFAULT_THEME)
        self.register_theme(theme)
        self.theme = theme.name

    async def on_event(self, event: events.Event) -> None:
        """Hold what is typed before there is an input: Textual would drop it."""
        is_typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if is_typed and self._held is not None:
            self._held.append(event)
        else:
            await self._deliver(event)

    async def _deliver(self, event: events.Event) -> None:
        """Handle an event; a key that is no letter waits for the keys pressed before it.

        Textual runs the binding of a screen while they are still in the queue of the focused
        widget: Ctrl+C would clear an input before they are in it, and Enter would choose the row of
        a list that was marked before Down.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            if isinstance(self.focused, OptionList):
                if await obey_own_binding(self.focused, event):
                    return
            elif isinstance(self.focused, TextArea | Input) and not event.is_printable:
                await take_waiting(self.focused)
        await super().on_event(event)

    async def on_input_ready(self) -> None:
        """Name the window, and type what was held, in order."""
        self.watch_sub_title(self.sub_title)
        held, self._held = self._held or [], None
        for event in held:
            await self._deliver(event)
        if self._kept_picture is not None and not held:
            self.screen.call_after_refresh(self._keep_picture, self._kept_picture)

    async def _keep_picture(self, kept: KeptPicture) -> None:
        """Keep what was drawn first, to show it at once the next time."""
        screen = self.screen
        if isinstance(screen, ChatScreen) and not screen.composer.text:
            await kept.keep(screen, screen.composer)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Take colours away, not only their hue, where `NO_COLOR` is set.

        The stock filter leaves shades of grey, which are colours for the terminal.
        """
        filters = super().get_line_filters()
        return [self._no_color if isinstance(one, Monochrome) else one for one in filters]

    def action_suspend_process(self) -> None:
        """Stop the whole process group, as a shell expects it."""
        if self._driver is None or not self._driver.can_suspend:
            return
        if os.getpgrp() == os.getsid(0):  # no shell could continue it
            self.bell()
            if isinstance(self.screen, ChatScreen):
                self.screen.hints.flash(
                    "ollm was not started from a shell, so it cannot be suspended", FLASH_S
                )
            return
        self._suspend_signal()
        os.killpg(0, signal.SIGTSTP)

    @on(Driver.SignalResume)
    def _draw_all(self) -> None:
        """Draw the whole screen after `fg`: the terminal has kept nothing of it."""
        self.screen.refresh()
        self.screen.post_message(ShownAgain())

    def watch_sub_title(self, chat: str) -> None:
        """Let the terminal's window or tab say which chat this is."""
        set_title(self, f"{chat} · {self.TITLE}" if chat else self.TITLE)

    def get_default_screen(self) -> ChatScreen:
        """Return the chat screen."""
        screen = ChatScreen(self._services, tuple(self._problems))
        if typed := getattr(self._driver, "typed_text", ""):
            screen.composer.draft = typed  # before the first frame, which has it
        return screen
