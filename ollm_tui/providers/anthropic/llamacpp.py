"""What llama.cpp's Messages endpoint wants otherwise: it passes over what it does not know."""

import io

from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.decode.think_tags import ThinkTags
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.answer_builder import tags_for
from ollm_tui.providers.anthropic.from_wire import AnthropicStream
from ollm_tui.providers.anthropic.models import Limits
from ollm_tui.providers.anthropic.provider import AnthropicProvider
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.embeddings import embed
from ollm_tui.providers.openai_compatible.llamacpp import wait_until_loaded
from ollm_tui.providers.stream import StreamDecoder
from ollm_tui.providers.unsupported import OnLeftOut, ignore_left_out

LLAMACPP = "llamacpp"


class LlamaCppMessagesProvider(AnthropicProvider):
    """A llama.cpp server, asked at `/v1/messages`."""

    async def embed(self, request: Request) -> Response:
        """Ask the server's `/v1/embeddings`: Anthropic's protocol has no such thing.

        Raises:
            AIError: any failure.
        """
        return await embed(self._transport, request)

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        return self._known.fit(as_llamacpp(self._written(request, on_left_out)), on_left_out)

    async def _wait_until_ready(self, error: AIError) -> bool:
        return await wait_until_loaded(error, self._transport)

    def _decoder(self, request: Request) -> StreamDecoder:
        if not isinstance(request.options.response_format, dict):
            return super()._decoder(request)
        endpoint, tags = self._transport.endpoint, tags_for(request.should_think)
        return SchemaAnswerStream(endpoint, self._signer(request), tags)


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


ANSWER = "answer"
MAX_ASIDE_CHARS = 4 * 1024 * 1024
"""What is kept of text until it is clear whether it is the answer."""


class SchemaAnswerStream(AnthropicStream):
    """Turn the bytes of one such answer into events, with exactly one end.

    Text beside the call is no part of the answer, unless no call comes.
    """

    def __init__(self, endpoint: Endpoint, signer: str, tags: ThinkTags | None = None) -> None:
        super().__init__(endpoint, signer, tags)
        self._answer_at: int | None = None
        self._aside = io.StringIO()

    def _begin(self, index: int, block: JsonObject) -> None:
        match string(block, "type"), string(block, "name"):
            case "text", _:
                self._saw_answer = True
                self._newest = index
                self._put_aside(string(block, "text") or "")
            case "tool_use", name if name == ANSWER:
                self._saw_answer = True
                self._newest = self._answer_at = index
                if whole := as_object(block.get("input")):
                    self._builder.add_text(dump_json(whole))
            case _:
                super()._begin(index, block)

    def _go_on(self, index: int, delta: JsonObject) -> None:
        match string(delta, "type"):
            case "text_delta":
                self._put_aside(string(delta, "text") or "")
            case "input_json_delta" if index == self._answer_at:
                self._builder.add_text(string(delta, "partial_json") or "")
            case _:
                super()._go_on(index, delta)

    def _put_aside(self, text: str) -> None:
        self._aside.write(text)
        if self._aside.tell() > MAX_ASIDE_CHARS:
            raise LimitPassed(f"the server sent text longer than {MAX_ASIDE_CHARS} characters")

    def _complete(self) -> None:
        if self._answer_at is None:
            self._builder.add_text(self._aside.getvalue())
        elif self._reason == "tool_use":
            self._reason = "end_turn"
        super()._complete()
