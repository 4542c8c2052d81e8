"""What is known of a model, put together from its provider's answer and the settings; pure."""

from dataclasses import replace

from ollm_tui.config.load import LoadedConfig
from ollm_tui.protocol.model import LONG_DETAILS, ModelInfo
from ollm_tui.runtime.details import ModelDetails
from ollm_tui.runtime.effective import shown, stacked
from ollm_tui.runtime.in_memory import gpu_share_of, until_of
from ollm_tui.runtime.model_lookup import FoundModel
from ollm_tui.runtime.setting_sources import SettingSources
from ollm_tui.runtime.windows import context_facts


def described(
    found: FoundModel,
    raw: ModelInfo,
    corrected: ModelInfo,
    loaded: LoadedConfig,
    *,
    loads_with_window: bool,
) -> ModelDetails:
    """Put the details of a model together.

    `raw` is what its provider says, with the long texts; `corrected` the same as a person sets it
    right.
    """
    settings = loaded.config.providers.get(found.ref.provider)
    kind = settings.kind if settings else None
    said = SettingSources(loaded, found.ref, raw, kind, found.adapter.label)
    effective = stacked(said.values(), f"the default of {found.adapter.label}")
    asked = next((value for value in effective if value.name == "num_ctx" and value.value), None)
    kept = {k: v for k, v in corrected.details.items() if k not in _APART}
    return ModelDetails(
        ref=found.ref,
        info=replace(corrected, details=kept),
        place=found.place,
        licence=_text(raw, "licence"),
        template=_text(raw, "template"),
        system=_text(raw, "system"),
        modelfile=_text(raw, "modelfile"),
        parameters=_parameters(raw),
        settings=effective,
        context=context_facts(raw, asked, said.window(), requested=loads_with_window),
        until=until_of(raw),
        gpu_share=gpu_share_of(raw) if raw.loaded is not False else None,
        path=_text(raw, "path"),
        loads_with_window=loads_with_window,
    )


_APART = LONG_DETAILS | {"path", "parameters", "server_defaults", "load_config"}
"""What of the details has a place of its own."""


def _text(info: ModelInfo, key: str) -> str | None:
    text = info.details.get(key)
    return text if isinstance(text, str) and text else None


def _parameters(info: ModelInfo) -> tuple[tuple[str, str], ...]:
    told = info.details.get("parameters")
    pairs: list[tuple[str, str]] = []
    for name, value in (told if isinstance(told, dict) else {}).items():
        pairs += [(name, shown(one)) for one in (value if isinstance(value, list) else [value])]
    return tuple(pairs)
