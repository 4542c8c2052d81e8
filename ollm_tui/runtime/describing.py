"""Put the details of a model together, from its provider's answer and the settings; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ollm_tui.config.engine_settings import PICTURE_PARTS, ModelEngineSettings
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import Origin, dotted
from ollm_tui.config.schema import EmbeddedConfig
from ollm_tui.decode.json_fields import as_object, positive, string
from ollm_tui.library.traits import WITHOUT_WINDOW
from ollm_tui.models.sidecar import loading_values
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import LONG_DETAILS, ModelInfo, ModelRef
from ollm_tui.protocol.request import SAMPLING_OPTIONS
from ollm_tui.providers.body.unsupported import UNSENT_OPTIONS
from ollm_tui.runtime.details import (
    OLLAMA_NAMES,
    ContextFacts,
    EffectiveValue,
    Layer,
    ModelDetails,
    option_values,
    shown,
    stacked,
)
from ollm_tui.runtime.model_lookup import FoundModel, gpu_share_of
from ollm_tui.runtime.provider_set import is_service as is_on_internet
from ollm_tui.tokens.limits import choose_window

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import KnownValue, ModelKnowledge


def described(
    model: FoundModel,
    raw: ModelInfo,
    corrected: ModelInfo,
    loaded: LoadedConfig,
    *,
    known: "ModelKnowledge",
    loads_with_window: bool,
) -> ModelDetails:
    """Put the details of a model together.

    `raw` is what its provider says, with the long texts; `corrected` the same as the user sets it
    right; `known` is what family and sidecar say.
    """
    settings = loaded.config.providers.get(model.ref.provider)
    kind = settings.kind if settings else None
    is_service = settings is not None and is_on_internet(settings)
    used = (*known.parameters_in_use, *loading_values(known)) if kind == EMBEDDED else ()
    sources = SettingSources(loaded, model.ref, raw, kind, model.adapter.label, used)
    effective = stacked(sources.values(), sources.default_of)
    has_prompt = raw.details.get("kind") not in WITHOUT_WINDOW
    if not has_prompt:
        effective = tuple(value for value in effective if value.name in _OF_WORKERS)
    num_ctx = next((value for value in effective if value.name == "num_ctx" and value.value), None)
    kept = {k: v for k, v in corrected.details.items() if k not in _APART}
    return ModelDetails(
        ref=model.ref,
        info=replace(corrected, details=kept, assumed=known.capability),
        place=model.place,
        licence=string(raw.details, "licence"),
        template=string(raw.details, "template"),
        system=string(raw.details, "system"),
        modelfile=string(raw.details, "modelfile"),
        parameters=_parameter_pairs(raw),
        settings=effective,
        context=None
        if not has_prompt
        else context_facts(
            replace(raw, assumed_context=known.context if is_service else None),
            num_ctx,
            sources.window(),
            requested=loads_with_window,
        ),
        until=string(raw.details, "expires_at"),
        gpu_share=gpu_share_of(raw) if raw.loaded is not False else None,
        path=string(raw.details, "path"),
        loads_with_window=loads_with_window,
        known=known,
        uses_family=kind == EMBEDDED,
    )


_OF_WORKERS = frozenset(
    {
        *("threads", "keep_alive", "language", "prompt", "translate", "voice", "speed"),
        *("flash_attention", "steps", "cfg_scale", "guidance", "strength", "usual_size"),
        *("sampler", "scheduler", "negative_prompt", *PICTURE_PARTS),
    }
)
"""Settings of models that hear, speak or draw."""
_APART = LONG_DETAILS | {"path", "parameters", "server_defaults", "load_config"}
"""What of the details has a place of its own."""


def _parameter_pairs(info: ModelInfo) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for name, value in as_object(info.details.get("parameters")).items():
        pairs += [(name, shown(one)) for one in (value if isinstance(value, list) else [value])]
    return tuple(pairs)


ASSUMED = "assumed: not reported"


def context_facts(
    info: ModelInfo,
    num_ctx: EffectiveValue | None,
    override: EffectiveValue | None,
    *,
    requested: bool,
) -> ContextFacts:
    """Return the context windows of a model.

    `info` is what the engine reports, `num_ctx` the value that counts of settings and model file,
    `override` the window that the settings give this model; `requested` tells whether the engine
    loads a model with the window that a request asks for.
    """
    asks = requested and num_ctx is not None and num_ctx.layer in ("chat", "settings")
    by_request = _tokens_of(num_ctx) if asks else None
    window = choose_window(
        settings=_tokens_of(override),
        num_ctx=by_request,
        engine=info.context,
        family=info.assumed_context,
    )
    trained = info.details.get("context_trained")
    configured = override or num_ctx
    sources = {
        "settings": override.source if override else "",
        "request": num_ctx.source if num_ctx else "",
        "engine": _engines_word(info, num_ctx),
        "family": "known of its family, not reported",
        "assumed": ASSUMED,
    }
    return ContextFacts(
        tokens=window.tokens,
        source=sources[window.source],
        trained=trained if isinstance(trained, int) else None,
        configured=_tokens_of(configured),
        configured_by=configured.source if _tokens_of(configured) and configured else None,
        loaded=info.context if info.loaded else None,
        reported=info.context,
        is_set=window.source == "settings",
        is_assumed=window.assumed,
    )


def _engines_word(info: ModelInfo, num_ctx: EffectiveValue | None) -> str:
    if info.loaded:
        return "as loaded"
    is_said = num_ctx is not None and num_ctx.layer in ("model", "sidecar", "engine")
    if num_ctx is not None and is_said and _tokens_of(num_ctx) == info.context:
        return num_ctx.source
    return "as reported by the server"


def _tokens_of(value: EffectiveValue | None) -> int | None:
    """Return a window as a number; a model file may hold anything."""
    text = value.value if value is not None else ""
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) <= 12 else None


MODEL_FILE = "the model file"
OF_FAMILY = "template of the family "
"""How the origin of a chat template begins that a family has."""
EMBEDDED = "embedded"


class SettingSources:
    """Collects the values for one model, highest precedence first."""

    def __init__(
        self,
        loaded: LoadedConfig,
        ref: ModelRef,
        info: ModelInfo,
        kind: str | None,
        label: str,
        known: "Sequence[KnownValue]",
    ) -> None:
        self._loaded = loaded
        self._ref = ref
        self._info = info
        self._kind = kind
        self._label = label
        self._unsent = UNSENT_OPTIONS.get(kind or "", frozenset())
        self._known = known
        """What family and sidecar set, if the provider takes its defaults from them."""

    def values(self) -> Iterator[EffectiveValue]:
        """Yield every configured or reported value; a name may come more than once."""
        for value in self._of_settings():
            lost = f"; {self._label} takes none" if value.name in self._unsent else ""
            yield replace(value, source=f"{value.source}{lost}")
        yield from self._of_provider()
        yield from self._of_model()
        yield from self._of_loading()
        yield from self._of_family()
        yield from self._of_engine()

    def default_of(self, name: str) -> str:
        """Return the source of an option that has no value."""
        default = f"the default of {self._label}"
        return f"{self._label} takes none" if name in self._unsent else default

    def window(self) -> EffectiveValue | None:
        """Return the window that the settings give this model."""
        return self._own("context")

    def _of_settings(self) -> Iterator[EffectiveValue]:
        config = self._loaded.config
        if config.system_prompt is not None:
            value = self._configured("system_prompt", config.system_prompt, ("system_prompt",))
            is_template = config.system_prompt_format is not None
            note = "; a template, rendered for each prompt" if is_template else ""
            yield replace(value, source=f"{value.source}{note}")
        if (mode := self._own("tool_mode")) is not None:
            yield mode
        for name, text in option_values(config.options.to_options()).items():
            yield self._configured(name, text, ("options", *name.split(".", 1)))

    def _of_provider(self) -> Iterator[EffectiveValue]:
        settings = self._loaded.config.providers.get(self._ref.provider)
        for key, value in (settings.extra_body if settings else {}).items():
            path = ("providers", self._ref.provider, "extra_body", key)
            name = key if key in _SHARED else f"extra_body.{key}"
            yield self._configured(name, shown(value), path, "provider")

    def _of_model(self) -> Iterator[EffectiveValue]:
        details = self._info.details
        system = details.get("system")
        if isinstance(system, str) and system.strip():
            yield _value("system_prompt", system, MODEL_FILE, "model")
        for name, value in _parameters_of(details).items():
            yield _value(OLLAMA_NAMES.get(name, name), value, MODEL_FILE, "model")

    def _of_family(self) -> Iterator[EffectiveValue]:
        for known in self._known:
            for one in (known, *known.beneath):
                value = self._at_most_trained(one.value) if one.name == "num_ctx" else one.value
                yield _value(one.name, value, one.origin, one.layer)

    def _of_engine(self) -> Iterator[EffectiveValue]:
        sources = {"server_defaults": "as the server was started", "load_config": "as loaded"}
        for key, source in sources.items():
            for name, value in as_object(self._info.details.get(key)).items():
                yield _value(name, value, source, "engine")
        if self._kind != EMBEDDED:
            return
        engine = self._loaded.config.embedded
        kept = f"{engine.idle_unload_s:g}s" if engine.idle_unload_s else "-1"
        if not self._is_window_set:
            yield self._usual_window(engine)
        yield self._configured("keep_alive", kept, ("embedded", "idle_unload_s"), "engine")
        if engine.threads is None:
            threads = "physical cores"
            yield self._configured("threads", threads, ("embedded", "threads"), "engine")
        if engine.threads is None and engine.threads_batch is None:
            reading = ("embedded", "threads_batch")
            yield self._configured("threads_batch", "all cores", reading, "engine")
        yield from self._template_in_force()

    def _template_in_force(self) -> Iterator[EffectiveValue]:
        """Yield the chat template of the model file, or that of the family of one that has none."""
        origin = self._info.details.get("template_from")
        if origin == MODEL_FILE:
            yield EffectiveValue(name="chat_template", value="", source=MODEL_FILE)
        elif isinstance(origin, str) and origin.startswith(OF_FAMILY):
            length = f"a text of {len(string(self._info.details, 'template') or ''):,} characters"
            source = origin.removeprefix("template of ")
            yield EffectiveValue(name="chat_template", value=length, source=source, layer="family")

    def _of_loading(self) -> Iterator[EffectiveValue]:
        """Yield how the built-in engine loads the model, as far as the settings say it."""
        if self._kind != EMBEDDED:
            return
        engine = self._loaded.config.embedded
        if self._is_window_set:
            yield self._usual_window(engine)
        for name in ModelEngineSettings.declared():
            own = self._own(name)
            usual = getattr(engine, name, None)
            if own is not None:
                yield replace(own, layer="engine")
            elif usual is not None:
                yield self._configured(name, shown(usual), ("embedded", name), "engine")

    @property
    def _is_window_set(self) -> bool:
        return "context" in self._loaded.config.embedded.given

    def _usual_window(self, engine: EmbeddedConfig) -> EffectiveValue:
        window = shown(self._at_most_trained(engine.context))
        return self._configured("num_ctx", window, ("embedded", "context"), "engine")

    def _at_most_trained(self, window: JsonValue) -> JsonValue:
        trained = positive(self._info.details, "context_trained")
        return min(window, trained) if trained and isinstance(window, int) else window

    def _own(self, key: str) -> EffectiveValue | None:
        """Return what `[models."provider://name"]` says, or `[models."name"]`."""
        models = self._loaded.config.models
        for name in (str(self._ref), self._ref.model):
            value = getattr(models.get(name), key, None)
            if value not in (None, []):
                named = "num_ctx" if key == "context" else key
                several = value if isinstance(value, list) else [value]
                text = ", ".join(map(str, several))
                return self._configured(named, text, ("models", name, key))
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
        """Return where a value came from; a table that was read whole has one place."""
        for length in range(len(path), 0, -1):
            key = dotted(path[:length])
            if key in self._loaded.origins:
                return self._loaded.origins[key]
        return self._loaded.origin_of(dotted(path))


_SHARED = frozenset({*SAMPLING_OPTIONS, "max_tokens", "stop"}) - {"repeat_penalty"}
"""Options that servers know by the same name, so that an extra body may set them."""


def _parameters_of(details: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what a model file sets, by name: a single value as itself, several as a list."""
    values: dict[str, JsonValue] = {}
    for name, value in as_object(details.get("parameters")).items():
        is_single = isinstance(value, list) and len(value) == 1 and name != "stop"
        values[name] = value[0] if is_single and isinstance(value, list) else value
    return values


def _value(name: str, value: JsonValue, source: str, layer: Layer) -> EffectiveValue:
    return EffectiveValue(name=name, value=shown(value), source=source, layer=layer)
