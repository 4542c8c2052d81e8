"""The dialogs of the chat screen: opening them, and what happens with their answers."""

import logging
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.commands.host import View
from ollm_tui.config.edit import set_key
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.capabilities import KnowsOtherFolders
from ollm_tui.tui.chat.chat_history import ChatHistory
from ollm_tui.tui.chat.context_remedies import ContextRemedies
from ollm_tui.tui.dialogs.help import Help
from ollm_tui.tui.dialogs.palette import Entry, Palette, entries
from ollm_tui.tui.dialogs.questions import YesNoDialog
from ollm_tui.tui.dialogs.reading import Passage
from ollm_tui.tui.links.opening import Links
from ollm_tui.tui.models.picker import PickModel
from ollm_tui.tui.theming.pick_dialog import PickTheme
from ollm_tui.tui.theming.themes import ThemeProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from ollm_tui.protocol.model import ModelRef
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen
    from ollm_tui.tui.models.screen import ModelsScreen

logger = logging.getLogger(__name__)


def _models_screen_class() -> "type[ModelsScreen]":
    # a screen of its own, which many never open
    from ollm_tui.tui.models.screen import ModelsScreen

    return ModelsScreen


class StopAnswer(YesNoDialog):
    """Asks before something stops the answer that is being written."""

    def __init__(self, model: str, action: str) -> None:
        """Ask whether to stop the answer and do `action`, such as `start a new chat`."""
        super().__init__(
            "An answer is in progress",
            f"Stop it and {action}?",
            Passage("Model", clean_name(model)),
            yes="stop it",
            no="or Esc keep it",
        )


class Dialogs:
    """Opens one dialog at a time."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller
        self._saved = ChatHistory(screen, controller)
        self._context = ContextRemedies(screen, controller)
        self.links = Links(screen, controller)

    def show(self, view: View, text: str = "") -> None:
        """Open a dialog or another screen, unless one is open."""
        if self._screen.app.screen is not self._screen:
            return
        openers: dict[View, Callable[[], object]] = {
            "help": self._help,
            "models": self._pick_model,
            "manager": self._manage_models,
            "find_models": lambda: self._desk.fetching.find(text),
            "themes": self._themes,
            "palette": self._palette,
            "chats": self._saved.show,
            "context": self._context.show,
            "links": self.links.show,
            "branch": lambda: self._desk.branches.show(text),
            "rename": lambda: self._desk.branches.rename(text),
            "edit": self._edit_newest,
        }
        openers[view]()

    async def may_stop(self, deed: str) -> bool:
        """Whether something may be done that stops an answer; asks while one is coming."""
        controller = self._desk
        if not controller.turns.is_running:
            return True
        ref = controller.session.ref
        model = controller.runtime.catalog.shown_address(ref) if ref else ""
        return await self._screen.app.push_screen_wait(StopAnswer(model, deed))

    async def new_chat(self) -> None:
        """Start a new chat, unless an answer that is coming shall not be stopped."""
        if await self.may_stop("start a new chat"):
            self._desk.new_chat()

    def _help(self) -> None:
        page = Help(self._screen.keymap, self._desk.commands)
        self._screen.app.push_screen(page)

    def _edit_newest(self) -> None:
        if not self._desk.rewriting.has_question:
            self._desk.say("No messages yet.")
        else:
            self._desk.rewriting.edit_newest()

    def _themes(self) -> None:
        shelf = self._screen.services.themes
        self._screen.app.push_screen(PickTheme(shelf), self._remember_theme)

    def _pick_model(self) -> None:
        runtime = self._desk.runtime
        others = runtime if isinstance(runtime, KnowsOtherFolders) else None
        picker = PickModel(
            runtime.catalog, self._desk.session.model, runtime.recent_models(), others
        )
        self._screen.app.push_screen(picker, self._use_model)

    def _manage_models(self) -> None:
        self._screen.run_worker(self._open_manager(), group="view", exclusive=True)

    async def _open_manager(self) -> None:
        make_page = await anyio.to_thread.run_sync(_models_screen_class)
        if self._screen.app.screen is self._screen:
            page = make_page(self._desk.runtime, self._desk.model_work, self._screen.keymap)
            self._desk.fetching.open(page)

    def _use_model(self, ref: "ModelRef | None") -> None:
        if ref is not None:
            self._desk.use_model(ref)

    def _palette(self) -> None:
        keys = [key for key in self._screen.keymap.keys if key.scope == "chat"]
        found = entries(keys, self._desk.commands)
        self._screen.app.push_screen(Palette(found), self._run)

    def _run(self, entry: Entry | None) -> None:
        if entry is None:
            return
        if entry.action:
            self._screen.run_worker(self._screen.run_action(entry.action), group="view")
        else:
            self._screen.take(entry.reach)

    def use_theme(self, name: str) -> None:
        """Put on a theme and remember it."""
        try:
            theme = self._screen.services.themes.load(name)
        except ThemeProblem as problem:
            self._desk.say(str(problem), "error")
            return
        self._screen.app.register_theme(theme)
        self._screen.app.theme = name
        self._remember_theme(name)

    def _remember_theme(self, name: str | None) -> None:
        if name is not None:
            self._screen.run_worker(self._write_theme(name), group="theme", exclusive=True)

    async def _write_theme(self, name: str) -> None:
        path = self._screen.services.config_file
        try:
            await anyio.to_thread.run_sync(set_key, path, "theme", name)
        except AIError as error:
            logger.warning("The theme could not be remembered: %s", error)
            self._desk.say(f"The theme could not be saved. {error.message}", "warning", error.hint)
