"""llama.cpp's Messages endpoint, which ignores what it does not know, such as schemas."""

import io

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.models.thinking_switch import (
    TEMPLATE_ARGUMENTS,
    USUAL_VARIABLE,
    is_left_out,
    tags_for,
    variable_of,
    with_words,
    words_of,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.request import Request, Response, plan_of
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.anthropic.models import Limits
from ollm_tui.providers.anthropic.provider import AnthropicProvider
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out, report_left_out
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.embeddings import embed_by_openai
from ollm_tui.providers.openai_compatible.llamacpp import wait_until_loaded

ANSWER = "answer"
MAX_TEXT_CHARS = 4 * 1024 * 1024
"""Limit of the text that is kept until it is clear whether it is the answer."""


class LlamaCppMessagesProvider(AnthropicProvider):
    """A llama.cpp server at `/v1/messages`."""

    async def embed(self, request: Request) -> Response:
        """Return embeddings by the server's `/v1/embeddings`, which Anthropic's protocol lacks.

        Raises:
            AIError: any failure.
        """
        return await embed_by_openai(self._transport, request)

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        variable = variable_of(plan := plan_of(request))
        if variable is None:
            is_stuck = plan.is_on is False and words_of(plan) is None
            if is_stuck and is_left_out(request, plan):
                report_left_out("think", on_left_out)
            request = with_words(request, plan)
        body = as_llamacpp(self._unfitted_body(request, on_left_out), variable)
        return self._limits.fit(body, on_left_out)

    async def _wait_until_ready(self, error: AIError) -> bool:
        return await wait_until_loaded(error, self._transport)

    def _decoder(self, request: Request) -> AnswerDecoder:
        if not isinstance(request.options.response_format, dict):
            return super()._decoder(request)
        endpoint, tags = self._transport.endpoint, tags_for(request, is_divided=True)
        return SchemaAnswerDecoder(endpoint, self._signer(request), tags)


def as_llamacpp(body: JsonObject, variable: str | None = USUAL_VARIABLE) -> JsonObject:
    """Express thinking by a variable of the template and a budget, and a schema by a tool.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a schema that is not one of a tool's arguments.
    """
    body = _with_only_the_chosen_tool(body)
    config = as_object(body.get("output_config"))
    schema = as_object(as_object(config.get("format")).get("schema"))
    if "format" in config:
        config = {key: value for key, value in config.items() if key != "format"}
        body = _with_answer_tool(body, schema) | {"output_config": config}
        if not config:
            del body["output_config"]
    thinking = string(as_object(body.get("thinking")), "type")
    if thinking is None:
        return body
    switch: JsonObject = {variable: thinking != "disabled"} if variable else {}
    if "effort" in config:
        fitted = Limits(thinking_type="enabled").fit(body)
    else:
        fitted = {key: value for key, value in body.items() if key != "thinking"}
    arguments = switch | as_object(body.get(TEMPLATE_ARGUMENTS))
    return fitted | ({TEMPLATE_ARGUMENTS: arguments} if arguments else {})


def _with_only_the_chosen_tool(body: JsonObject) -> JsonObject:
    """Offer only the tool that must be called: the endpoint reads its name as "any"."""
    choice = as_object(body.get("tool_choice"))
    if choice.get("type") != "tool":
        return body
    tools = [tool for tool in objects(body.get("tools")) if tool.get("name") == choice["name"]]
    return body | {"tools": [*tools]}


def _with_answer_tool(body: JsonObject, schema: JsonObject) -> JsonObject:
    """Offer a tool whose arguments are the answer: the endpoint ignores schemas."""
    if "tools" in body or schema.get("type") != "object":
        what = "beside tools" if "tools" in body else "that is no object's"
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"llama.cpp's Messages endpoint cannot hold an answer to a schema {what}.",
            hint='Ask the server as kind = "openai-compatible" for that.',
        )
    tool: JsonObject = {"name": ANSWER, "description": "Give the answer.", "input_schema": schema}
    return body | {"tools": [tool], "tool_choice": {"type": "any"}}


class SchemaAnswerDecoder(AnthropicDecoder):
    """Turns an answer by a schema into events: the arguments of a tool call become its text.

    Text beside the call is not part of the answer, unless there is no call.
    """

    def __init__(self, endpoint: Endpoint, signer: str, tags: ThinkTags | None = None) -> None:
        super().__init__(endpoint, signer, tags)
        self._answer_index: int | None = None
        self._text = io.StringIO()

    def _begin_block(self, index: int, block: JsonObject) -> None:
        match string(block, "type"), string(block, "name"):
            case "text", _:
                self._saw_answer = True
                self._last_index = index
                self._keep_text(string(block, "text") or "")
            case "tool_use", name if name == ANSWER:
                self._saw_answer = True
                self._last_index = self._answer_index = index
                if whole := as_object(block.get("input")):
                    self._builder.add_text(dump_json(whole))
            case _:
                super()._begin_block(index, block)

    def _continue_block(self, index: int, delta: JsonObject) -> None:
        match string(delta, "type"):
            case "text_delta":
                self._keep_text(string(delta, "text") or "")
            case "input_json_delta" if index == self._answer_index:
                self._builder.add_text(string(delta, "partial_json") or "")
            case _:
                super()._continue_block(index, delta)

    def _keep_text(self, text: str) -> None:
        self._text.write(text)
        if self._text.tell() > MAX_TEXT_CHARS:
            raise LimitPassed(f"the server sent text longer than {MAX_TEXT_CHARS} characters")

    def _complete(self) -> None:
        if self._answer_index is None:
            self._builder.add_text(self._text.getvalue())
        elif self._reason == "tool_use":
            self._reason = "end_turn"
        super()._complete()
