"""The dialogs of the chat screen: help, the palette, models, themes, stopping an answer.

Each is loaded when it is first opened.
"""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, offered
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.model_facts import can_chat
from ollm_tui.frontend.session import ChatSession
from ollm_tui.lazy import import_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import (
    Dialogs,
    Passage,
    YesNoDialog,
)
from ollm_tui.tui.downloads import ChatDownloads
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.models import ModelOperations
from ollm_tui.tui.services import Say, Services
from ollm_tui.tui.theming import ThemeProblem, put_on

if TYPE_CHECKING:
    from textual.app import App

    from ollm_tui.tui.dialogs import PaletteEntry

logger = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class ChatDialogs:
    """Help, the palette, choosing a model, and the screen of all models."""

    session: ChatSession
    dialogs: Dialogs
    keymap: Keymap
    commands: Sequence[Command]
    operations: ModelOperations
    downloads: ChatDownloads
    use: Callable[[ModelRef], None]
    run_action: Callable[[str], None]
    """Runs an action of the screen."""
    submit: Callable[[str], None]
    """Runs a command as if it were typed."""
    host: Callable[[], CommandHost]
    """Returns what decides which commands can be used as things are."""

    def show_help(self) -> None:
        """Open the page of keys and commands."""
        # Loaded when it is shown.
        from ollm_tui.tui.dialogs import Help

        host = self.host()
        described = [command.described(host) for command in self.commands]
        self.dialogs.open(Help(self.keymap, described))

    def show_palette(self) -> None:
        """Open the command palette."""
        # Loaded when it is opened.
        from ollm_tui.tui.dialogs import Palette, PaletteEntry, palette_entries

        commands = offered(self.commands, self.host())
        hidden = {one.name for one in self.commands} - {one.name for one in commands}
        in_chat = [key for key in self.keymap.keys if key.scope == "chat"]
        keys = [key for key in in_chat if key.command not in hidden]
        profiles = [
            PaletteEntry(f"Profile {clean_name(name)}", f"/profile {name}")
            for name in self.session.runtime.profiles.listed()
        ]
        listed = [*palette_entries(keys, commands), *profiles]
        self.dialogs.open(Palette(listed), self._run)

    def pick_profile(self) -> None:
        """Choose a profile for the chat."""
        # Loaded when it is shown.
        from ollm_tui.tui.chat.profile_dialog import ProfilePicker

        used = self.session.client.conversation.profile
        picker = ProfilePicker(self.session.runtime.profiles.listed(), used)
        self.dialogs.open(picker, self._use_profile)

    def _use_profile(self, name: str | None) -> None:
        if name is not None:
            self.submit(f"/profile {name}")

    def _run(self, entry: "PaletteEntry | None") -> None:
        if entry is not None and entry.action:
            self.run_action(entry.action)
        elif entry is not None:
            self.submit(entry.reach)

    def pick_model(self) -> None:
        """Choose the model that answers from now on."""
        # Loaded when it is shown.
        from ollm_tui.tui.models import ModelPicker

        runtime, model = self.session.runtime, self.session.model
        recents, other_folders = runtime.recent_models(), runtime.other_folders
        picker = ModelPicker(runtime.catalog, model, recents, other_folders, runtime.task_defaults)
        self.dialogs.open(picker, self._picked)

    def _picked(self, ref: ModelRef | None) -> None:
        if ref is None:
            return
        info = self.session.runtime.catalog.find(ref)
        if info is None or can_chat(info):
            self.use(ref)
            return
        tasks = self.session.runtime.task_defaults.tasks_of(ref, info)
        self.operations.use_for(tasks, ref)

    def manage_models(self) -> None:
        """Open the screen of all models."""
        self.dialogs.run(self._manage_models(), "view", is_exclusive=True)

    async def _manage_models(self) -> None:
        await anyio.to_thread.run_sync(import_module, "ollm_tui.tui.models.screen")
        # a screen of its own, which many never open
        from ollm_tui.tui.models import ModelsScreen

        if self.dialogs.is_free:
            screen = ModelsScreen(self.session.runtime, self.operations, self.keymap)
            self.downloads.open(screen)


@dataclass(frozen=True, slots=True)
class ThemeSwitch:
    """Chooses a theme, puts it on and remembers it."""

    app: "App[object]"
    services: Services
    dialogs: Dialogs
    say: Say

    def pick(self) -> None:
        """Choose from a list, with a preview."""
        # Loaded when it is shown.
        from ollm_tui.tui.theming import ThemePicker

        self.dialogs.open(ThemePicker(self.services.themes), self._remember)

    def use(self, name: str) -> None:
        """Put on a theme and remember it."""
        try:
            theme = self.services.themes.load(name)
        except ThemeProblem as problem:
            self.say(str(problem), "error")
            return
        put_on(self.app, theme)
        self._remember(name)

    def _remember(self, name: str | None) -> None:
        if name is not None:
            self.dialogs.run(self._write(name), "theme", is_exclusive=True)

    async def _write(self, name: str) -> None:
        try:
            # In a thread: it brings what writes TOML, which most sessions never do.
            edit = await anyio.to_thread.run_sync(import_name, "ollm_tui.config.edit:set_key")
            await anyio.to_thread.run_sync(edit, self.services.config_file, "theme", name)
        except AIError as error:
            logger.warning("The theme could not be remembered: %s", error)
            self.say(f"The theme could not be saved. {error.message}", "warning", error.hint)
