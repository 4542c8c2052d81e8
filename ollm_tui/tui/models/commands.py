"""`/show`, `/prompt`, `/load` and `/unload`: what the commands of a chat do with one model."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.notes import report_errors
from ollm_tui.models.actions import ModelAction
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.models.operations import ModelOperations
from ollm_tui.tui.services import OpenChat

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.details import ModelDetails
    from ollm_tui.tui.models.details import DetailsAnswer

_NOT_FROM_A_CHAT: Final = "copy"
_TIMEOUT_S: Final = 1.5
"""How long a prompt may take before the chat says why."""


@dataclass(slots=True)
class ModelCommands:
    """What the commands of a chat do with one model: /show, /prompt, /load and /unload."""

    runtime: "Runtime"
    chat: OpenChat
    dialogs: Dialogs
    keymap: Keymap
    operations: ModelOperations

    def show(self, name: str, section: str | None) -> None:
        """Open the details of a model, the chat's own for an empty name, at one section."""
        self._begin(self._show(name, section))

    def show_prompt(self, text: str) -> None:
        """Open the exact prompt of the last answer, or of a text as the next question."""
        self.dialogs.run(
            report_errors(self._show_prompt(text), self.chat.say), "prompt", is_exclusive=True
        )

    async def _show_prompt(self, text: str) -> None:
        words = "Getting the prompt. The engine may have to load the model for that."
        later = asyncio.get_running_loop().call_later(_TIMEOUT_S, self.chat.say, words)
        try:
            prompt = await self.runtime.exact_prompt(self.chat.conversation, text)
        finally:
            later.cancel()
        # a screen of its own, which many never open
        from ollm_tui.tui.models.prompt_screen import PromptScreen

        provider_name = self.runtime.catalog.shown_name(prompt.ref.provider)
        copies = self.operations.copies
        self.dialogs.open(PromptScreen(prompt, provider_name, keymap=self.keymap, copies=copies))

    def run(self, action: ModelAction, name: str, value: str | None = None) -> None:
        """Run an action that changes a model; `value` is what it takes beside the model."""
        self._begin(self._change(action, name, value))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.dialogs.run(report_errors(work, self.chat.say), "model")

    async def _show(self, name: str, section: str | None) -> None:
        manager, ref = self.operations.manager, await self._resolve(name)
        if ref is None:
            return
        details = await manager.show(ref)
        refusals: dict[ModelAction, str | None] = {**await manager.unavailable_reasons(ref)}
        key = self.keymap.key_for("chat.models")
        refusals[_NOT_FROM_A_CHAT] = f"Copy it in the model list: {key}."
        if not self.dialogs.is_free:
            return
        page = self.operations.details_page(details, refusals, section)
        if section is not None and not page.has(section):
            what = "system prompt" if section == "system" else section
            self.chat.say(f"{clean_name(details.ref.model)} has no {what}.", "warning")
            return
        self.dialogs.open(page, partial(self._answered, details))

    def _answered(self, details: "ModelDetails", answer: "DetailsAnswer") -> None:
        if answer == "chat":
            self.chat.use_model(details.ref)
        elif answer == "delete":
            self._begin(self._delete(details))
        elif answer is not None:
            self.run(answer, str(details.ref))

    async def _change(self, action: ModelAction, name: str, value: str | None) -> None:
        ref = await self._resolve(name)
        if ref is not None and await self._may_run(action, ref):
            self.operations.run(action, ref, value or None, in_chat=True)

    async def _may_run(self, action: ModelAction, ref: ModelRef) -> bool:
        is_refused = self.operations.is_refused(ref, in_chat=True)
        return not is_refused and await self.operations.may_stop(ref, action)

    async def _delete(self, details: "ModelDetails") -> None:
        if not await self._may_run("delete", details.ref):
            return
        # Not needed before a model is deleted.
        from ollm_tui.tui.models.dialogs import DeleteModel

        question = DeleteModel(
            replace(details.info, name=details.ref.model),
            details.place,
            is_own=self.operations.is_own(details.ref),
            is_loaded=bool(details.info.loaded),
        )
        if await self.dialogs.ask(question):
            self.operations.run("delete", details.ref)

    async def _resolve(self, name: str) -> ModelRef | None:
        """Resolve a name, the chat's own model for an empty one; None, and a note, without one."""
        own = self.chat.conversation.model
        if not name and own is None:
            self.chat.say("No model is selected.", "warning")
            return None
        return (await self.runtime.router.resolve(name or own or "")).ref
