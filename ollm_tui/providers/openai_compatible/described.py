"""What the entries of a model list say that a model can do, where a service says it; pure.

OpenRouter and llama.cpp name modalities, Mistral has switches, Together has a type. A service that
says nothing leaves it unknown, which is not the same as nothing.
"""

from ollm_tui.decode.json_fields import as_object, string, strings
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability

CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt"})
TEXT = frozenset({"text"})
_MODALITIES = frozenset({"text", "image", "audio", "video"})
_OTHER_TYPES = frozenset(
    {"image", "embedding", "embeddings", "rerank", "audio", "transcribe", "video", "moderation"}
)
"""What Together calls models that do not chat."""


def described(entry: JsonObject) -> ModelCapability | None:
    """Give what a model can do; None when its entry does not say."""
    architecture = as_object(entry.get("architecture"))
    if inputs := strings(architecture.get("input_modalities")):
        outputs = strings(architecture.get("output_modalities")) or ["text"]
        return ModelCapability(
            _MODALITIES.intersection(inputs), frozenset(outputs), _parameters(entry)
        )
    switches = as_object(entry.get("capabilities"))
    if "completion_chat" in switches:
        return _switched(switches)
    if string(entry, "type") in _OTHER_TYPES:
        return ModelCapability(TEXT, frozenset({string(entry, "type") or ""}))
    return None


def can_chat(capability: ModelCapability | None) -> bool:
    """Whether a model may be offered for a chat: only one known to write no text may not."""
    return capability is None or "text" in capability.output


def _parameters(entry: JsonObject) -> frozenset[str]:
    """Read features off the options that a model takes; none when that is not told."""
    if not isinstance(entry.get("supported_parameters"), list):
        return frozenset()
    taken = strings(entry.get("supported_parameters"))
    features = set(CHAT_FEATURES)
    features |= {"tool_use"} if "tools" in taken else set()
    features |= {"thinking"} if {"reasoning", "include_reasoning"}.intersection(taken) else set()
    features |= {"json_mode"} if {"response_format", "structured_outputs"} & set(taken) else set()
    return frozenset(features)


def _switched(switches: JsonObject) -> ModelCapability:
    features = CHAT_FEATURES | ({"tool_use"} if switches.get("function_calling") is True else set())
    inputs = TEXT | ({"image"} if switches.get("vision") is True else set())
    chats = switches.get("completion_chat") is True
    return ModelCapability(inputs, TEXT if chats else frozenset(), features)
