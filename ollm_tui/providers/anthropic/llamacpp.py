"""What llama.cpp's Messages endpoint wants otherwise: it passes over what it does not know."""

from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.anthropic.adapt import Limits
from ollm_tui.providers.anthropic.provider import AnthropicProvider
from ollm_tui.providers.anthropic.schema_answer import ANSWER, SchemaAnswerStream
from ollm_tui.providers.left_out import Say, unsaid
from ollm_tui.providers.openai_compatible.embeddings import embed
from ollm_tui.providers.openai_compatible.loading import has_loaded_after
from ollm_tui.providers.stream import StreamDecoder
from ollm_tui.providers.thinking_tags import tags_for


class LlamaCppMessagesProvider(AnthropicProvider):
    """A llama.cpp server, asked at `/v1/messages`."""

    async def embed(self, request: Request) -> Response:
        """Ask the server's `/v1/embeddings`: Anthropic's protocol has no such thing.

        Raises:
            AIError: any failure.
        """
        return await embed(self._transport, request)

    def _body(self, request: Request, say: Say = unsaid) -> JsonObject:
        return self._known.fit(as_llamacpp(self._written(request, say)), say)

    async def _is_ready_after(self, error: AIError) -> bool:
        return await has_loaded_after(error, self._transport)

    def _decoder(self, request: Request) -> StreamDecoder:
        if not isinstance(request.options.response_format, dict):
            return super()._decoder(request)
        place, tags = self._transport.place, tags_for(request.should_think)
        return SchemaAnswerStream(place, self._signer(request), tags)


def as_llamacpp(body: JsonObject) -> JsonObject:
    """Switch thinking by the chat template, grade it by a budget, hold to a schema by a tool.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a schema that no tool can take.
    """
    body = _with_the_tool_alone(body)
    config = as_object(body.get("output_config"))
    schema = as_object(as_object(config.get("format")).get("schema"))
    if "format" in config:
        config = {key: value for key, value in config.items() if key != "format"}
        body = _with_answer_tool(body, schema) | {"output_config": config}
        if not config:
            del body["output_config"]
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


def _with_the_tool_alone(body: JsonObject) -> JsonObject:
    """Offer a tool that must be called alone: the endpoint takes its name for "any"."""
    choice = as_object(body.get("tool_choice"))
    if choice.get("type") != "tool":
        return body
    tools = [tool for tool in objects(body.get("tools")) if tool.get("name") == choice["name"]]
    return body | {"tools": [*tools]}


def _with_answer_tool(body: JsonObject, schema: JsonObject) -> JsonObject:
    """Have the model call a tool whose arguments are the answer: the endpoint ignores schemas."""
    if "tools" in body or schema.get("type") != "object":
        what = "beside tools" if "tools" in body else "that is no object's"
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"llama.cpp's Messages endpoint cannot hold an answer to a schema {what}.",
            hint='Ask the server as kind = "openai-compatible" for that.',
        )
    tool: JsonObject = {"name": ANSWER, "description": "Give the answer.", "input_schema": schema}
    return body | {"tools": [tool], "tool_choice": {"type": "any"}}
