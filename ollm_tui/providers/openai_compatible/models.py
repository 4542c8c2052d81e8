"""`/v1/models` of any server as `ModelInfo`; pure.

It tells names; the window stands beside them as `max_model_len` (vLLM), `context_length`
(OpenRouter, Together), `context_window` (Groq), `max_context_length` (Mistral) or
`max_input_tokens` (LiteLLM), if anywhere.
"""

from ollm_tui.decode.json_fields import as_object, objects, positive, string
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.openai_compatible.described import can_chat, described


def read_models(reply: JsonValue) -> list[ModelInfo]:
    """Read `/v1/models`; some services answer with a bare list. What cannot chat is left out."""
    entries = objects(reply) or objects(as_object(reply).get("data"))
    windows = {string(entry, "id"): _window(entry) for entry in entries}
    found = []
    for entry in entries:
        name = string(entry, "id")
        capability = described(entry)
        if name is None or not can_chat(capability):
            continue
        window = _window(entry)
        if window is None:
            window = windows.get(string(entry, "parent"))  # a LoRA has its parent's window
        found.append(
            ModelInfo(
                name=name,
                label=_label(entry),
                capability=capability,
                size_bytes=positive(as_object(entry.get("meta")), "size"),
                context=window,
                details=_meta(entry),
            )
        )
    return found


def _window(entry: JsonObject) -> int | None:
    return (
        positive(entry, "max_model_len")
        or positive(entry, "context_length")
        or positive(entry, "context_window")
        or positive(entry, "max_context_length")
        or positive(entry, "max_input_tokens")
        or positive(as_object(entry.get("meta")), "n_ctx")
    )


def _label(entry: JsonObject) -> str | None:
    return string(entry, "name") or string(entry, "display_name")


def _meta(entry: JsonObject) -> JsonObject:
    meta = as_object(entry.get("meta"))
    found = {
        "context_trained": positive(meta, "n_ctx_train"),
        "parameter_count": positive(meta, "n_params"),
        "quantization": string(meta, "ftype"),
        "owned_by": string(entry, "owned_by"),
        "parent": string(entry, "parent"),
    }
    return {key: value for key, value in found.items() if value is not None}
