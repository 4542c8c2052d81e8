"""`/show`, `/load`, `/unload` and other actions on a model, said in words."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.model_facts import can_chat
from ollm_tui.frontend.model_sections import sections_of
from ollm_tui.linear.chat import LinearChat
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.model import ModelInfo, ModelRef


@dataclass(slots=True)
class LinearModelActions:
    """Runs what a command does with one model; an empty name is the chat's own."""

    chat: LinearChat
    begin: Callable[[Coroutine[Any, Any, object]], None]

    def show(self, name: str, section: str | None) -> None:
        """Read the details of a model, or one section of them."""
        self.begin(self._show(name, section))

    async def _show(self, name: str, section: str | None) -> None:
        if (ref := await self._resolve(name)) is not None:
            await self.read(ref, section)

    async def read(self, ref: ModelRef, section: str | None = None) -> None:
        """Write the details of a model, or one section of them.

        Raises:
            AIError: they cannot be had.
        """
        details = await self.chat.runtime.manager.show(ref)
        sections = sections_of(details, datetime.now(UTC))
        wanted = [one for one in sections if section in {None, one.id}]
        if not wanted:
            self.chat.say(f"{clean_name(ref.model)} has no {section}.", "warning")
        for one in wanted:
            self.chat.write(f"{one.title}:")
            for fact in one.facts:
                note = f", {fact.note}" if fact.note else ""
                self.chat.write(f"{fact.name.strip()}: {fact.value}{note}")
            if one.text and section is not None:
                self.chat.write(one.text)
            elif one.text:
                self.chat.write(f"A text of {len(one.text):,} characters. /show {one.id} reads it.")

    def run(self, action: ModelAction, name: str, value: str | None = None) -> None:
        """Run an action, and say how it ended."""
        self.begin(self._run(action, name, value))

    async def _run(self, action: ModelAction, name: str, value: str | None) -> None:
        if (ref := await self._resolve(name)) is not None:
            await self.change(action, ref, value)

    async def change(self, action: ModelAction, ref: ModelRef, value: str | None = None) -> None:
        """Run an action on a model; a deletion is asked about before.

        Raises:
            AIError: it failed.
        """
        known, manager = ACTIONS[action], self.chat.runtime.manager
        shown = clean_name(ref.model)
        if action == "delete" and not await self.chat.questions.is_sure(
            f"Delete {shown} from {manager.place(ref)} permanently?"
        ):
            self.chat.say("Nothing was deleted.")
            return
        if known.doing:
            self.chat.write(known.doing.format(name=shown).replace("…", "."))
        place = manager.place(ref)
        result = await manager.run(action, ref, value or None)
        copy = clean_name(result.model)
        self.chat.say(known.done.format(name=shown, place=place, copy=copy))
        if action == "delete" and ref == self.chat.session.ref:
            self.chat.session.drop_model()
            self.chat.say("No model is selected now. /model chooses one.")

    async def _resolve(self, name: str) -> ModelRef | None:
        own = self.chat.session.model
        if not name and own is None:
            self.chat.say("No model is selected.", "warning")
            return None
        return (await self.chat.runtime.router.resolve(name or own or "")).ref


def model_row(address: str, info: ModelInfo | None, *, is_used: bool) -> str:
    """Return a model with what matters for a choice: `qwen3:8b, 5.2 GB, loaded, in use`."""
    parts = [clean_name(address)]
    if info is not None:
        parts.append(size_text(info.size_bytes) if info.size_bytes else "")
        parts.append("loaded" if info.loaded else "")
        parts.append("" if can_chat(info) else "not for chats")
    parts.append("in use" if is_used else "")
    return ", ".join(part for part in parts if part)
