"""The open chat behind the screen: its client, its model, and the models used before."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.tui.services import Client, Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.message import Usage


class Talk:
    """One conversation at a time; a new one keeps the model and the settings of the last."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.client: Client = runtime.new_client()
        self.usage: Usage | None = None

    @property
    def model(self) -> str | None:
        """The address of the model that answers."""
        return self.client.conversation.model

    def set_model(self, address: str, *, chosen: bool = True) -> None:
        """Let another model answer from now on; a chosen one is remembered."""
        self.client.conversation.model = address
        if chosen:
            self.runtime.remember_model(address)

    def begin_anew(self) -> None:
        """Leave the history behind."""
        before = self.client.conversation
        self.client = self.runtime.new_client()
        after = self.client.conversation
        after.model, after.system_prompt = before.model, before.system_prompt
        after.options, after.should_think = before.options, before.should_think
        self.usage = None

    def next_recent(self) -> str | None:
        """Give the model used before the present one, going round; None if there is no other."""
        recents = list(self.runtime.recent_models())
        if not [address for address in recents if address != self.model]:
            return None
        place = recents.index(self.model) if self.model in recents else -1
        return recents[(place + 1) % len(recents)]

    def info(self) -> ModelInfo | None:
        """Give what is known of the present model."""
        ref = ModelRef.parse(self.model or "")
        return self.runtime.catalog.find(ref) if ref else None

    @property
    def window(self) -> int | None:
        """The model's context window as the engine has it; None if unknown."""
        info = self.info()
        return info.context if info else None

    @property
    def context_used(self) -> int | None:
        """How many tokens the chat took by the server's last count."""
        usage = self.usage
        if usage is None:
            return None
        if usage.total_tokens is not None:
            return usage.total_tokens
        parts = (usage.prompt_tokens, usage.completion_tokens)
        return sum(part or 0 for part in parts) if any(parts) else None

    def known_addresses(self) -> Sequence[str]:
        """Give the models listed so far, for completion."""
        listings = self.runtime.catalog.cached()
        return [
            str(ModelRef(entry.provider, info.name)) for entry in listings for info in entry.models
        ]
