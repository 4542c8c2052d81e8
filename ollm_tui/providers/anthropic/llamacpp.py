"""What llama.cpp's Messages endpoint wants otherwise: it passes over what it does not know."""

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.anthropic.adapt import Limits
from ollm_tui.providers.fields import as_object, string

LLAMACPP = "llamacpp"


def as_llamacpp(body: JsonObject) -> JsonObject:
    """Switch thinking by the chat template, and grade it by a budget.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a schema, which the endpoint would ignore.
    """
    config = as_object(body.get("output_config"))
    if "format" in config:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            "llama.cpp holds no answer to a schema at its Messages endpoint.",
            hint='Ask the server as kind = "openai-compatible" for that.',
        )
    wish = string(as_object(body.get("thinking")), "type")
    if wish is None:
        return body
    switch: JsonObject = {"enable_thinking": wish != "disabled"}
    if "effort" in config:
        told = Limits(thinks_by="enabled").fit(body)
    else:
        told = {key: value for key, value in body.items() if key != "thinking"}
    given = as_object(body.get("chat_template_kwargs"))
    return told | {"chat_template_kwargs": switch | given}
