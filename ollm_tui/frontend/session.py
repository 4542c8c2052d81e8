"""The open chat: its client, its model, and the models used before."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ollm_tui.chat.prompt import is_question
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tools.memory.notes import without_notes

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.protocol.json_types import JsonMapping
    from ollm_tui.protocol.message import Usage
    from ollm_tui.runtime.compose import Runtime


class ChatSession:
    """One conversation at a time; a new one keeps the model and the settings of the last one."""

    def __init__(
        self,
        runtime: "Runtime",
        *,
        is_private: bool = False,
        schema: "JsonMapping | None" = None,
        schema_file: str | None = None,
        keep_prompts: Callable[[bool], None] = lambda _is_kept: None,
    ) -> None:
        """Begin a chat; `keep_prompts` is told whether prompts go into the history.

        The answers of this chat must match the schema, if there is one.
        """
        self.runtime = runtime
        self._is_private = runtime.memory.is_private = False
        self._keep_prompts = keep_prompts
        self.is_private = is_private
        self.client: ChatClient = runtime.new_client(saved=not is_private)
        if schema is not None:
            self.client.conversation.use_schema(schema, schema_file)
        self.usage: Usage | None = None
        self._counted: set[ModelRef] = set()
        self._loaded: ModelRef | None = None
        self.window: int | None = None
        """The model's context window in tokens, as the engine has it; None if unknown."""

    @property
    def is_private(self) -> bool:
        """Whether nothing of this chat is kept, nor of the new ones after it."""
        return self._is_private

    @is_private.setter
    def is_private(self, is_private: bool) -> None:
        if is_private != self._is_private:
            self._is_private = self.runtime.memory.is_private = is_private
            self._keep_prompts(not is_private)

    @property
    def was_asked(self) -> bool:
        """Whether there is a question to ask again."""
        return any(map(is_question, self.client.conversation.messages))

    @property
    def model(self) -> str | None:
        """The address of the model that answers."""
        return self.client.conversation.model

    @property
    def ref(self) -> ModelRef | None:
        """The model that answers, or None."""
        return ModelRef.parse(self.model or "")

    def set_model(self, ref: ModelRef) -> None:
        """Use another model from the next prompt on."""
        self.client.conversation.model = str(ref)
        info = self.runtime.catalog.find(ref)
        self.window = info.context if info else None

    def drop_model(self) -> None:
        """Use no model until one is chosen."""
        self.client.conversation.model = None
        self.window = None

    def remember_model(self) -> None:
        """Put the model in front of the recent ones."""
        recents = self.runtime.recent_models()
        is_new = not recents or recents[0] != self.model
        if self.model is not None and is_new and not self.is_private:
            self.runtime.remember_model(self.model)

    async def count_use(self) -> None:
        """Note in the model registry that the model was chatted with: once per chat and model."""
        ref = self.ref
        if ref is None or self.is_private or not self.was_asked or ref in self._counted:
            return
        self._counted.add(ref)
        # Needed after the first answer.
        from ollm_tui.runtime.downloads import load_registry

        await load_registry()
        await self.runtime.model_registry.note_use(ref)

    def start_new(self) -> None:
        """Start an empty conversation."""
        self._counted.clear()
        before = self.client.conversation
        self.client.jobs.stop_all()
        was_unsaved = self.client.saving.journal is None
        self.client = self.runtime.new_client(saved=not self.is_private)
        after = self.client.conversation
        after.model, after.schema_file = before.model, before.schema_file
        after.options, after.should_think = before.options, before.should_think
        after.tools = before.tools
        # What was typed in a private chat does not get into one that is saved.
        if not was_unsaved or self.client.saving.journal is None:
            after.system_prompt = before.system_prompt
            after.system_template = before.system_template
            after.profile = before.profile
        self.recall_notes()
        self.usage = None

    def go_to(self, client: "ChatClient") -> None:
        """Continue another chat, with the model and the settings it has."""
        self._counted.clear()
        before = self.client.conversation
        if client.jobs is not self.client.jobs:  # a branch of the same chat keeps them
            self.client.jobs.stop_all()
        self.client, self.is_private = client, False
        client.conversation.model = client.conversation.model or before.model
        self.usage = None
        if (ref := self.ref) is not None:
            self.set_model(ref)

    def recall_notes(self) -> None:
        """Give a new chat the notes that last, if that is switched on and it is not private."""
        conversation, notes = self.client.conversation, self.runtime.memory
        conversation.system_prompt = without_notes(conversation.system_prompt)
        has_template = conversation.system_prompt_format is not None
        if notes.is_on and not (self.is_private or has_template):
            conversation.system_prompt = notes.put_into(conversation.system_prompt)

    def next_recent(self) -> str | None:
        """Return the model used before the current one, going round, or None."""
        recents = list(self.runtime.recent_models())
        if not [address for address in recents if address != self.model]:
            return None
        position = recents.index(self.model) if self.model in recents else -1
        return recents[(position + 1) % len(recents)]

    async def find_window(self) -> None:
        """Ask for the context window of a model that was never listed."""
        ref = self.ref
        if ref is None or self.window is not None:
            return
        with suppress(AIError):  # the provider may be gone from the settings: the next prompt fails
            info = await self.runtime.model_info(ref)
            if ref == self.ref:
                self.window = info.context if info else None

    async def refresh_window(self) -> None:
        """Ask for the window again, once per model: an engine may choose it when loading."""
        ref = self.ref
        if ref is not None and ref != self._loaded:
            self._loaded = ref
            info = await self.runtime.model_info(ref)
            self.window = info.context if info and info.context else self.window

    @property
    def context_used(self) -> int | None:
        """Tokens of the chat by the server's last count, or None if it did not count."""
        usage = self.usage
        counted = (usage.prompt_tokens, usage.completion_tokens) if usage else ()
        known = [count for count in counted if count is not None]
        if not known and not self.client.conversation.messages:
            return 0
        return sum(known) if known else None
