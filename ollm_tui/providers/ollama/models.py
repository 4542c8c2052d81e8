"""Replies of Ollama's model endpoints as `ModelInfo`; pure, and every field may be missing."""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace

from ollm_tui.decode.json_fields import (
    as_object,
    integer,
    objects,
    positive,
    present,
    string,
    strings,
)
from ollm_tui.decode.thinking import opens_thinking
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo

_FEATURES: Mapping[str, str] = {"tools": "tool_use", "insert": "infill", "thinking": "thinking"}
_INPUTS: Mapping[str, str] = {"vision": "image", "audio": "audio"}
_BY_TEMPLATE: Mapping[str, str] = {"tools": "tool_use", "thinking": "thinking"}
"""Capabilities that depend on a model's template."""
_ESCAPE = lazy_re(r"\\([xuU](?P<code>(?<=x)[0-9a-f]{2}|(?<=u)[0-9a-f]{4}|(?<=U)[0-9a-f]{8})|.)")
_ESCAPES: Mapping[str, str] = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
"""What Go writes for characters that are not printed."""
_LONG_TEXT = lazy_re(r'"""(?:[^"]|"(?!""))*+"""')
_RENDERER = lazy_re(r"^RENDERER (\S+)$", re.MULTILINE)
_CHAT_FEATURES = ("stream", "multi_turn", "system_prompt", "json_mode")


def is_older(version: str | None, wanted: tuple[int, int]) -> bool:
    """Whether a server's version is below one; a version that is not known counts as older.

    A server that was built from its sources without a version says 0.0.0 and counts as new.
    """
    numbers = re.match(r"v?(\d{1,6})\.(\d{1,6})(\.0\b)?", version or "")
    if numbers is None:
        return True
    number = int(numbers[1]), int(numbers[2])
    return number < wanted and not (number == (0, 0) and numbers[3])


def read_tags(reply: JsonValue) -> list[ModelInfo]:
    """Read `/api/tags`, in the server's order.

    The list derives tools and thinking from the Modelfile alone, and not from the template inside
    the GGUF file, as `/api/show` does: what it does not name is unknown.
    """
    models = []
    for entry in objects(as_object(reply).get("models")):
        info = _entry(entry)
        trained = {"context_trained": positive(as_object(entry.get("details")), "context_length")}
        details = {**info.details, **present(trained)}
        models.append(replace(info, details=details, reported=_declared_in_list(info.capability)))
    return [info for info in models if info.name]


def _declared_in_list(capability: ModelCapability | None) -> frozenset[str] | None:
    """Return the capabilities of which a list with capabilities says yes or no."""
    if capability is None:
        return None
    named = {ours for ours, theirs in _BY_TEMPLATE.items() if theirs in capability.features}
    return frozenset({"vision", "embedding"} | named)


def read_running(reply: JsonValue) -> dict[str, ModelInfo]:
    """Read `/api/ps`: the loaded models by name, with the window in use."""
    running = {}
    for entry in objects(as_object(reply).get("models")):
        info = _entry(entry)
        # of a loaded model the size is what it takes in memory
        details = {**info.details, **present({"memory_bytes": info.size_bytes})}
        window = positive(entry, "context_length")
        running[info.name] = replace(info, loaded=True, context=window, details=details)
    return running


def read_show(name: str, reply: JsonValue) -> ModelInfo:
    """Read `/api/show`; a missing list of capabilities is unknown, not empty."""
    data = as_object(reply)
    facts = as_object(data.get("model_info"))
    parameters = read_parameters(string(data, "parameters") or "")
    window = next((value for key, value in parameters if key == "num_ctx"), "")
    is_number = re.fullmatch(r"[0-9]{1,12}", window) is not None
    architecture = string(facts, "general.architecture")
    details = {
        "context_trained": positive(facts, f"{architecture}.context_length"),
        "parameters": _by_name(parameters) or None,
        "parameter_count": positive(facts, "general.parameter_count"),
        "tokenizer": string(facts, "tokenizer.ggml.model"),
        "shape": _shape(facts, architecture) or None,
        "renderer": _renderer(data),
        "opens_thinking": _leaves_thinking(data) or None,
    }
    return ModelInfo(
        name=name,
        modified_at=string(data, "modified_at"),
        capability=read_capability(data.get("capabilities")),
        context=(int(window) or None) if is_number else None,
        details=_details(data) | present(details) | _texts(data),
    )


def read_parameters(text: str) -> list[tuple[str, str]]:
    """Read a Modelfile's parameters: a name, white space, a value that Go may have quoted."""
    pairs = [line.split(maxsplit=1) for line in text.splitlines()]
    return [(pair[0], _unquoted(pair[1].strip())) for pair in pairs if len(pair) == 2]


def _unquoted(text: str) -> str:
    """Return a text without the quotes and escapes of Go's `%#v`."""
    is_quoted = len(text) > 1 and text.startswith('"') and text.endswith('"')
    return _ESCAPE.sub(_unescaped, text[1:-1]) if is_quoted else text


def _unescaped(escape: re.Match[str]) -> str:
    code = escape["code"]
    if code is None:
        return _ESCAPES.get(escape[1], escape[1])
    number = int(code, 16)
    return chr(number) if number <= sys.maxunicode and not 0xD800 <= number < 0xE000 else "\ufffd"


def _renderer(data: JsonObject) -> str | None:
    """Return which code of Ollama's own writes the prompts, if one does and not the template."""
    commands = _LONG_TEXT.sub("", string(data, "modelfile") or "")
    named = _RENDERER.search(commands)
    return string(data, "renderer") or (named[1] if named else None)


def _leaves_thinking(data: JsonObject) -> bool:
    """Whether the template opens a block of thinking that Ollama does not know to take out."""
    if "thinking" in strings(data.get("capabilities")) or _renderer(data) is not None:
        return False
    return opens_thinking(string(data, "template") or "")


def _shape(facts: JsonObject, architecture: str | None) -> JsonObject:
    """Return the sizes that the memory of a model's cache depends on."""
    heads = positive(facts, f"{architecture}.attention.head_count")
    width = positive(facts, f"{architecture}.embedding_length")
    per_head = width // heads if width and heads else None
    shape = {
        "layers": positive(facts, f"{architecture}.block_count"),
        "kv_heads": positive(facts, f"{architecture}.attention.head_count_kv") or heads,
        "key_length": positive(facts, f"{architecture}.attention.key_length") or per_head,
        "value_length": positive(facts, f"{architecture}.attention.value_length") or per_head,
        "window": positive(facts, f"{architecture}.attention.sliding_window"),
    }
    return present(shape)


def _texts(data: JsonObject) -> JsonObject:
    """Return a model's texts; several licences are sent as one text, or as a list."""
    licences = data.get("license")
    texts = {
        "licence": "\n\n".join(strings(licences)) or string(data, "license"),
        "template": string(data, "template"),
        "system": string(data, "system"),
        "modelfile": string(data, "modelfile"),
    }
    return present(texts)


def _by_name(parameters: list[tuple[str, str]]) -> JsonObject:
    values: dict[str, list[JsonValue]] = {}
    for name, value in parameters:
        values.setdefault(name, []).append(value)
    return {**values}


def read_capability(value: JsonValue) -> ModelCapability | None:
    """Translate Ollama's capabilities, or return None if there are none."""
    if not isinstance(value, list):
        return None
    named = strings(value)
    chats = "completion" in named
    inputs = {"text"} | {_INPUTS[name] for name in named if name in _INPUTS}
    outputs = {"text"} if chats else set()
    outputs |= {"embedding"} if "embedding" in named else set()
    outputs |= {"image"} if "image" in named else set()
    features = {_FEATURES[name] for name in named if name in _FEATURES}
    features |= set(_CHAT_FEATURES) if chats else set()
    return ModelCapability(frozenset(inputs), frozenset(outputs), frozenset(features))


def _entry(entry: JsonObject) -> ModelInfo:
    return ModelInfo(
        name=string(entry, "name") or string(entry, "model") or "",
        size_bytes=integer(entry, "size"),
        modified_at=string(entry, "modified_at"),
        capability=read_capability(entry.get("capabilities")),
        details=_details(entry),
    )


def _details(data: JsonObject) -> JsonObject:
    inner = as_object(data.get("details"))
    details = {
        "family": string(inner, "family"),
        "format": string(inner, "format"),
        "parameter_size": string(inner, "parameter_size"),
        "quantization": string(inner, "quantization_level"),
        "digest": string(data, "digest"),
        "expires_at": string(data, "expires_at"),
    }
    return present({**details, "size_vram": integer(data, "size_vram")})
