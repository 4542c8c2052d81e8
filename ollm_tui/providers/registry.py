"""The providers of one runtime, by name."""

from typing import TYPE_CHECKING

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import ProviderAdapter

if TYPE_CHECKING:
    from collections.abc import Callable


class ProviderRegistry:
    """Maps names and aliases to adapters, and knows the default provider."""

    def __init__(self) -> None:
        self._adapters: dict[str, ProviderAdapter] = {}
        self._priorities: dict[str, int] = {}
        self._aliases: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        self._default: str | None = None
        self.redact: Callable[[str], str] = str
        """Removes the secrets of the settings from what adapters return."""

    def register(self, adapter: ProviderAdapter, *, priority: int = 0) -> None:
        """Add an adapter under its name, replacing one of that name or an alias.

        Adapters of higher priority are searched first for a bare model name.
        """
        self._aliases.pop(adapter.name, None)
        self._adapters[adapter.name] = adapter
        self._priorities[adapter.name] = priority

    def get(self, name: str | None = None) -> ProviderAdapter | None:
        """Return the adapter of exactly this name, or the default one if there is no name."""
        if name is None:
            return self._adapters.get(self._default) if self._default is not None else None
        return self._adapters.get(name)

    def resolve(self, name: str) -> ProviderAdapter | None:
        """Return the adapter of this name or alias."""
        return self._adapters.get(name) or self._adapters.get(self._aliases.get(name, ""))

    def register_alias(self, alias: str, name: str, *, is_shown: bool = False) -> None:
        """Let `alias` mean the provider `name`, which may be registered later.

        An alias that `is_shown` replaces the provider's name in `shown_name` and `shown_address`.

        Raises:
            AIError: BAD_REQUEST if a provider already has that name.
        """
        if alias in self._adapters:
            raise AIError(
                ErrorCode.BAD_REQUEST, f"{alias!r} is a provider and cannot be another's alias."
            )
        self._aliases[alias] = self._aliases.get(name, name)
        if is_shown:
            self._shown[self._aliases[alias]] = alias

    def shown_name(self, provider: str) -> str:
        """Return the name of a provider as people write it, such as `ollama`."""
        alias = self._shown.get(provider)
        is_meant = alias is not None and self._aliases.get(alias) == provider
        return alias if alias and is_meant else provider

    def shown_address(self, ref: ModelRef) -> str:
        """Return the address of a model as people write it, such as `ollama://qwen3:8b`."""
        return str(ModelRef(self.shown_name(ref.provider), ref.model))

    def set_default(self, name: str) -> None:
        """Set the default provider.

        Raises:
            AIError: BAD_REQUEST if there is no such provider.
        """
        adapter = self.resolve(name)
        if adapter is None:
            raise self.unknown(name)
        self._default = adapter.name

    def get_default(self) -> ProviderAdapter:
        """Return the default provider.

        Raises:
            AIError: BAD_REQUEST if none is set.
        """
        adapter = self.get(None)
        if adapter is None:
            raise AIError(
                ErrorCode.BAD_REQUEST, "No provider is set as the default.", hint="Name one."
            )
        return adapter

    def list(self) -> list[str]:
        """Return the names in order of registration."""
        return [*self._adapters]

    def by_priority(self) -> tuple[ProviderAdapter, ...]:
        """Return the adapters by descending priority; equal ones in order of registration."""
        return tuple(sorted(self._adapters.values(), key=lambda a: -self._priorities[a.name]))

    def unknown(self, name: str) -> AIError:
        """Make the error for a name that is not a provider."""
        known = ", ".join(map(self.shown_name, self._adapters)) or "none"
        return AIError(
            ErrorCode.BAD_REQUEST,
            f"There is no provider named {name!r}.",
            hint=f"Known providers: {known}.",
        )
