"""The details of a model beside a chat, and what is done with it from there."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.details import ModelAction, ModelDetails
from ollm_tui.runtime.effective import in_chat
from ollm_tui.tui.capabilities import ManagesModels

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from ollm_tui.protocol.model import ModelRef
    from ollm_tui.runtime.manager_port import ModelManager
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen
    from ollm_tui.tui.models.details import DetailsAnswer, ModelDetailsScreen

_NOT_FROM_A_CHAT: ModelAction = "copy"


class ModelViews:
    """Shows models, loads and drops them, as the commands of a chat ask."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller

    # What commands ask

    def show(self, name: str, section: str | None) -> None:
        """Open the details of a model, the chat's own for an empty name, at one of their parts."""
        self._begin(self._show(name, section))

    def load(self, name: str, keep_alive: str | None) -> None:
        """Bring a model into memory, and keep it for a time."""
        self._begin(self._load(name, keep_alive))

    def unload(self, name: str) -> None:
        """Drop a model from memory."""
        self._begin(self._unload(name))

    # Doing it

    def _begin(self, work: "Coroutine[Any, Any, None]") -> None:
        self._screen.run_worker(self._or_say_why(work), group="model")

    async def _or_say_why(self, work: "Coroutine[Any, Any, None]") -> None:
        try:
            await work
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)

    async def _show(self, name: str, section: str | None) -> None:
        manager, ref = await self._meant(name)
        if manager is None or ref is None:
            return
        details = await manager.show(ref)
        refusals = {**await manager.deeds(ref)}
        key = self._screen.keymap.key_for("chat.models")
        refusals[_NOT_FROM_A_CHAT] = f"Copy it in the model list: {key}."
        self._open(details, refusals, section)

    def page(
        self,
        details: ModelDetails,
        refusals: Mapping[ModelAction, str | None],
        section: str | None = None,
    ) -> "ModelDetailsScreen":
        """Make the screen of a model as it counts in this chat, at one of its parts."""
        # A screen of its own, which many chats never open.
        from ollm_tui.tui.models.details import ModelDetailsScreen

        page = ModelDetailsScreen(
            self._as_chatted(details),
            refusals=refusals,
            section=section,
            keymap=self._screen.keymap,
            copies=self._screen.services.copies,
        )
        page.provider_name = self._desk.runtime.catalog.shown_name(details.ref.provider)
        return page

    def _as_chatted(self, details: ModelDetails) -> ModelDetails:
        """Let the options of the chat count for the chat's own model."""
        session = self._desk.session
        if session.model != str(details.ref):
            return details
        return in_chat(details, session.client.conversation.options)

    def _open(
        self, details: ModelDetails, refusals: dict[ModelAction, str | None], section: str | None
    ) -> None:
        if self._screen.app.screen is not self._screen:
            return
        page = self.page(details, refusals, section)
        if section is not None and not page.has(section):
            self._desk.say(f"{clean_name(details.ref.model)} has no {section}.", "warning")
            return
        self._screen.app.push_screen(page, partial(self._answered, details))

    def _answered(self, details: ModelDetails, answer: "DetailsAnswer") -> None:
        address = str(details.ref)
        match answer:
            case "chat":
                self._desk.use_model(details.ref)
            case "load":
                self.load(address, None)
            case "unload":
                self.unload(address)
            case "delete":
                self._begin(self._delete(details))
            case _:
                pass

    async def _load(self, name: str, keep_alive: str | None) -> None:
        manager, ref = await self._meant(name)
        if manager is not None and ref is not None:
            shown = clean_name(ref.model)
            self._desk.say(f"Loading {shown} …")
            await manager.load(ref, keep_alive=keep_alive)
            self._desk.say(f"Loaded {shown}.")
            await self._desk.session.look_at_window()
            self._desk.status.show_talk()

    async def _unload(self, name: str) -> None:
        manager, ref = await self._meant(name)
        if manager is not None and ref is not None:
            await manager.unload(ref)
            self._desk.say(f"Unloaded {clean_name(ref.model)}.")

    async def _delete(self, details: ModelDetails) -> None:
        """Delete after a yes."""
        # Not needed before somebody deletes.
        from ollm_tui.tui.models.dialogs import DeleteModel

        question = DeleteModel(
            replace(details.info, name=details.ref.model),
            details.place,
            is_own=self._desk.model_work.is_own(details.ref),
            is_loaded=bool(details.info.loaded),
        )
        if await self._screen.app.push_screen_wait(question):
            self._desk.model_work.delete(details.ref)

    async def _meant(self, name: str) -> "tuple[ModelManager | None, ModelRef | None]":
        """Find the model that is meant, and who can do something with it; or say what lacks."""
        runtime, own = self._desk.runtime, self._desk.session.model
        if not isinstance(runtime, ManagesModels):
            self._desk.say("This program only lists models.")
            return None, None
        if not name and own is None:
            self._desk.say("No model is selected.", "warning")
            return None, None
        return runtime.manager, (await runtime.router.resolve(name or own or "")).ref
