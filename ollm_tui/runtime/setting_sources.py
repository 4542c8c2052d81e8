"""Who says what about the settings of one model: the settings, the model itself, the engine."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import Origin, dotted
from ollm_tui.config.schema import ModelSettings, ProviderSettings
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.embedded.defaults import MODEL_DEFAULTS
from ollm_tui.providers.unsupported import UNSENT_OPTIONS
from ollm_tui.runtime.details import EffectiveValue, Layer
from ollm_tui.runtime.effective import OLLAMA_NAMES, option_values, shown

MODEL_FILE = "the model file"
EMBEDDED = "embedded"


class SettingSources:
    """Collects the values for one model, what counts most in front."""

    def __init__(
        self, loaded: LoadedConfig, ref: ModelRef, info: ModelInfo, kind: str | None, label: str
    ) -> None:
        self._loaded = loaded
        self._ref = ref
        self._info = info
        self._kind = kind
        self._label = label

    def values(self) -> Iterator[EffectiveValue]:
        """Give every value that somebody said; one name may come several times."""
        unsent = UNSENT_OPTIONS.get(self._kind or "", frozenset())
        for value in self._of_settings():
            is_lost = value.name in unsent
            yield (
                replace(value, source=f"{value.source}; {self._label} takes none")
                if (is_lost)
                else value
            )
        yield from self._of_provider()
        yield from self._of_model()
        yield from self._of_app()
        yield from self._of_engine()

    def window(self) -> EffectiveValue | None:
        """Give the window that a person said this model has."""
        return self._own("context")

    def _of_settings(self) -> Iterator[EffectiveValue]:
        config = self._loaded.config
        if config.system_prompt is not None:
            yield self._configured("system_prompt", config.system_prompt, ("system_prompt",))
        if (mode := self._own("tool_mode")) is not None:
            yield mode
        for name, text in option_values(config.options.to_options()).items():
            yield self._configured(name, text, ("options", *name.split(".", 1)))

    def _of_provider(self) -> Iterator[EffectiveValue]:
        settings = self._provider
        for key, value in (settings.extra_body if settings else {}).items():
            path = ("providers", self._ref.provider, "extra_body", key)
            name = key if key in _SHARED else f"extra_body.{key}"
            yield self._configured(name, shown(value), path, "provider")

    def _of_model(self) -> Iterator[EffectiveValue]:
        details = self._info.details
        system = details.get("system")
        if isinstance(system, str) and system.strip():
            yield _said("system_prompt", system, MODEL_FILE, "model")
        for name, value in parameters_of(details).items():
            yield _said(OLLAMA_NAMES.get(name, name), value, MODEL_FILE, "model")

    def _of_app(self) -> Iterator[EffectiveValue]:
        """What this app fills in for a file of the built-in engine."""
        own = MODEL_DEFAULTS.get(self._ref.model) if self._kind == EMBEDDED else None
        if own is None:
            return
        for name in ("system_prompt", "temperature", "repeat_penalty"):
            value: str | float | None = getattr(own, name)
            if value is not None:
                yield _said(name, value, "the app's defaults for this file", "app")

    def _of_engine(self) -> Iterator[EffectiveValue]:
        for name, value in _table(self._info.details, "server_defaults"):
            yield _said(name, value, "as the server was started", "engine")
        for name, value in _table(self._info.details, "load_config"):
            yield _said(name, value, "as loaded", "engine")
        if self._kind != EMBEDDED:
            return
        engine = self._loaded.config.embedded
        trained = self._info.details.get("context_trained")
        window = min(engine.context, trained) if isinstance(trained, int) else engine.context
        kept = f"{engine.idle_unload_s:g}s" if engine.idle_unload_s else "-1"
        for name, key, text in (
            ("num_ctx", "context", str(window)),
            ("keep_alive", "idle_unload_s", kept),
            ("threads", "threads", str(engine.threads or "half of the cores")),
        ):
            yield self._configured(name, text, ("embedded", key), "engine")

    def _own(self, key: str) -> EffectiveValue | None:
        """Give what `[models."provider://name"]` says, or `[models."name"]`."""
        models = self._loaded.config.models
        for name in (str(self._ref), self._ref.model):
            said: ModelSettings | None = models.get(name)
            value = getattr(said, key, None)
            if value is not None:
                named = "num_ctx" if key == "context" else key
                return self._configured(named, str(value), ("models", name, key))
        return None

    def _configured(
        self, name: str, text: str, path: tuple[str, ...], layer: Layer = "settings"
    ) -> EffectiveValue:
        key = dotted(path)
        origin = self._origin(path)
        source = f"the default of {key}" if origin.kind == "default" else str(origin)
        if origin.kind == "file":
            source = f"{origin}, {key}"
        return EffectiveValue(name=name, value=text, source=source, layer=layer)

    def _origin(self, path: tuple[str, ...]) -> Origin:
        """Give where a value came from; a table that was read whole has one place."""
        for length in range(len(path), 0, -1):
            key = dotted(path[:length])
            if key in self._loaded.origins:
                return self._loaded.origins[key]
        return self._loaded.origin_of(dotted(path))

    @property
    def _provider(self) -> ProviderSettings | None:
        return self._loaded.config.providers.get(self._ref.provider)


_SHARED = frozenset({"temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "stop"})
"""What an extra body calls as the options do."""


def parameters_of(details: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give what a model file sets, by name: a single value as itself, several as a list."""
    told = details.get("parameters")
    found: dict[str, JsonValue] = {}
    for name, value in (told if isinstance(told, dict) else {}).items():
        is_single = isinstance(value, list) and len(value) == 1 and name != "stop"
        found[name] = value[0] if is_single and isinstance(value, list) else value
    return found


def _table(details: Mapping[str, JsonValue], key: str) -> Iterator[tuple[str, JsonValue]]:
    told = details.get(key)
    yield from (told if isinstance(told, dict) else {}).items()


def _said(name: str, value: JsonValue, source: str, layer: Layer) -> EffectiveValue:
    return EffectiveValue(name=name, value=shown(value), source=source, layer=layer)
