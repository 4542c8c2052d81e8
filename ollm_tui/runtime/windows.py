"""The windows of one model: trained, configured, loaded, and which of them counts; pure."""

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.runtime.details import ContextFacts, EffectiveValue
from ollm_tui.tokens.limits import choose_window

ASSUMED = "assumed: not reported"


def context_facts(
    info: ModelInfo, asked: EffectiveValue | None, said: EffectiveValue | None, *, requested: bool
) -> ContextFacts:
    """Tell the windows of a model.

    `info` is what the engine says, uncorrected; `asked` the `num_ctx` that counts of the settings
    and the model file; `said` what a person said of this model; `requested` whether the engine
    loads a model with the window that a request asks for.
    """
    wish = _number(asked)
    by_request = wish if asked and asked.layer in ("chat", "settings") and requested else None
    window = choose_window(settings=_number(said), num_ctx=by_request, engine=info.context)
    trained = info.details.get("context_trained")
    configured = said or asked
    sources = {
        "settings": said.source if said else "",
        "request": asked.source if asked else "",
        "engine": _engines_word(info, asked),
        "assumed": ASSUMED,
    }
    return ContextFacts(
        tokens=window.tokens,
        source=sources[window.source],
        trained=trained if isinstance(trained, int) else None,
        configured=_number(configured),
        configured_by=configured.source if _number(configured) and configured else None,
        loaded=info.context if info.loaded else None,
        told=info.context,
        is_set=window.source == "settings",
        is_assumed=window.assumed,
    )


def _engines_word(info: ModelInfo, asked: EffectiveValue | None) -> str:
    if info.loaded:
        return "as loaded"
    if asked is not None and asked.layer in ("model", "engine") and _number(asked) == info.context:
        return asked.source
    return "as reported by the server"


def _number(value: EffectiveValue | None) -> int | None:
    """Give a window as a number; a model file may hold anything."""
    text = value.value if value is not None else ""
    return (
        int(text) if text.isascii() and text.isdigit() and len(text) <= 12 and int(text) else None
    )
