"""`/show`, `/load` and `/unload`: what the commands of a chat do with one model."""

from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs.dialogs import Dialogs
from ollm_tui.tui.keys.keymap import Keymap
from ollm_tui.tui.keys.table import MODEL_COMMANDS
from ollm_tui.tui.models.operations import ModelOperations
from ollm_tui.tui.services import OpenChat

if TYPE_CHECKING:
    from ollm_tui.runtime.actions import ModelAction
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.details import ModelDetails
    from ollm_tui.tui.models.details import DetailsAnswer

_NOT_FROM_A_CHAT: Final = "copy"


class ModelCommands:
    """What the commands of a chat do with one model: /show, /load and /unload."""

    def __init__(
        self,
        runtime: "Runtime",
        chat: OpenChat,
        dialogs: Dialogs,
        keymap: Keymap,
        operations: ModelOperations,
    ) -> None:
        self._runtime = runtime
        self._chat = chat
        self._dialogs = dialogs
        self._keymap = keymap
        self._operations = operations

    def show(self, name: str, section: str | None) -> None:
        """Open the details of a model, the chat's own for an empty name, at one section."""
        self._begin(self._show(name, section))

    def load(self, name: str, keep_alive: str | None) -> None:
        """Load a model into memory, and keep it there for a time."""
        self._begin(self._load(name, keep_alive))

    def unload(self, name: str) -> None:
        """Unload a model from memory."""
        self._begin(self._unload(name))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._dialogs.run(self._run(work), "model")

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except AIError as error:
            self._chat.say(error.message, "error", error.hint)

    async def _show(self, name: str, section: str | None) -> None:
        manager, ref = self._operations.manager, await self._resolve(name)
        if ref is None:
            return
        details = await manager.show(ref)
        refusals: dict[ModelAction, str | None] = {**await manager.unavailable_reasons(ref)}
        key = self._keymap.key_for("chat.models")
        refusals[_NOT_FROM_A_CHAT] = f"Copy it in the model list: {key}."
        if not self._dialogs.is_free:
            return
        page = self._operations.details_page(details, refusals, section)
        if section is not None and not page.has(section):
            self._chat.say(f"{clean_name(details.ref.model)} has no {section}.", "warning")
            return
        self._dialogs.open(page, partial(self._answered, details))

    def _answered(self, details: "ModelDetails", answer: "DetailsAnswer") -> None:
        address = str(details.ref)
        match answer:
            case "chat":
                self._chat.use_model(details.ref)
            case "load":
                self.load(address, None)
            case "unload":
                self.unload(address)
            case "delete":
                self._begin(self._delete(details))
            case _:
                pass

    async def _load(self, name: str, keep_alive: str | None) -> None:
        ref = await self._resolve(name)
        if ref is not None:
            self._operations.load(ref, keep_alive, in_chat=True)

    async def _unload(self, name: str) -> None:
        ref = await self._resolve(name)
        if ref is not None and await self._may_stop("unload", ref):
            self._operations.unload(ref, in_chat=True)

    async def _may_stop(self, action: "ModelAction", ref: ModelRef) -> bool:
        return await self._operations.may_stop(ref, MODEL_COMMANDS[action].stops_for)

    async def _delete(self, details: "ModelDetails") -> None:
        """Delete a model after a yes."""
        if not await self._may_stop("delete", details.ref):
            return
        # Not needed before a model is deleted.
        from ollm_tui.tui.models.dialogs import DeleteModel

        question = DeleteModel(
            replace(details.info, name=details.ref.model),
            details.place,
            is_own=self._operations.is_own(details.ref),
            is_loaded=bool(details.info.loaded),
        )
        if await self._dialogs.ask(question):
            self._operations.delete(details.ref)

    async def _resolve(self, name: str) -> ModelRef | None:
        """Resolve a name, the chat's own model for an empty one; None, and a note, if impossible.

        Raises:
            AIError: no provider has the model.
        """
        own = self._chat.conversation.model
        if not name and own is None:
            self._chat.say("No model is selected.", "warning")
            return None
        return (await self._runtime.router.resolve(name or own or "")).ref
