"""A request as the variables of a chat template, and the forms that templates take them in; pure.

Templates disagree on some points: whether there is a system role (`fold_system`), whether the
arguments of a call are an object or text, whether content is text or a list of parts (`variants`).
`best` chooses the form of which nothing was lost.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ollm_tui.decode.json_fields import as_object, objects, present, string
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request, ThinkingPlan, ThinkingSwitch, plan_of
from ollm_tui.protocol.tools import ToolCall, ToolSchema

USUAL_VARIABLES: Final[JsonMapping] = {
    "add_generation_prompt": True,
    "bos_token": "",
    "eos_token": "",
    "tools": None,
    "documents": None,
}
"""What templates use beside a conversation, with the values of one that has none of them."""
_LOOKED_FOR: Final = 400
"""Characters of a text that are looked for in what was rendered."""


def context_of(request: Request, more: JsonMapping | None = None) -> JsonObject:
    """Return a request as `apply_chat_template` of `transformers` passes it on.

    Earlier thinking is left out, as the adapters leave it out. `more` adds variables such as
    `bos_token` and `documents`; the template arguments of `extra_body` come last.
    """
    messages: list[JsonValue] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    messages += [_message(message) for message in request.conversation]
    context: JsonObject = {**USUAL_VARIABLES, "messages": messages, **(more or {})}
    if request.offered_tools:
        context["tools"] = [_tool(tool) for tool in request.offered_tools]
    context |= _thinking(plan_of(request))
    extra = request.options.extra_body or {}
    return context | as_object(extra.get("chat_template_kwargs"))


def _thinking(plan: ThinkingPlan) -> JsonObject:
    """Return the variables that switch thinking."""
    if plan.is_on is None:
        return {}
    switch = plan.switch or ThinkingSwitch(variable="enable_thinking")
    variables = {switch.variable: plan.is_on, switch.effort_variable: plan.effort}
    return {name: value for name, value in variables.items() if name and value is not None}


def _message(message: Message) -> JsonObject:
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    has_pictures = any(isinstance(block, ImageContent) for block in message.content)
    content: JsonValue = "".join(texts)
    if has_pictures:
        content = [_part(block) for block in message.content if not _is_thought(block)]
    fields: dict[str, JsonValue] = {
        "role": message.role,
        "content": content,
        "name": message.name,
        "tool_call_id": message.tool_call_id if message.role == "tool" else None,
        "tool_calls": [_call(call) for call in message.tool_calls] or None,
    }
    return present(fields)


def _is_thought(block: object) -> bool:
    return isinstance(block, ThinkingContent)


def _part(block: object) -> JsonObject:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image" if isinstance(block, ImageContent) else "unknown"}


def _call(call: ToolCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "arguments": call.args or {}}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: ToolSchema) -> JsonObject:
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": present(function)}


def variants(context: JsonMapping) -> list[JsonObject]:
    """Return the forms in which a template may take a conversation, the usual one first."""
    messages = objects(context.get("messages"))
    forms = [messages]
    if any("tool_calls" in message for message in messages):
        forms += [[_with_text_arguments(message) for message in form] for form in [*forms]]
    forms += [[_with_parts(message) for message in form] for form in [*forms]]
    bare: JsonObject = {key: value for key, value in context.items() if value is not None}
    whole: list[JsonObject] = [{**context, "messages": [*form]} for form in forms]
    return [*whole, bare]


def has_system(context: JsonMapping) -> bool:
    """Whether a conversation has a message of the system."""
    return any(one.get("role") == "system" for one in objects(context.get("messages")))


def fold_system(context: JsonMapping) -> JsonObject:
    """Put what the system says in front of the next question, as llama.cpp does."""
    folded: list[JsonValue] = []
    waiting = ""
    for message in objects(context.get("messages")):
        content = message.get("content")
        if message.get("role") == "system" and isinstance(content, str):
            waiting = f"{waiting}\n{content}" if waiting else content
        elif message.get("role") == "user" and isinstance(content, str) and waiting:
            joined = f"{waiting}\n{content}" if content else waiting
            folded.append({**message, "content": joined})
            waiting = ""
        else:
            folded.append(message)
    if waiting:
        folded.append({"role": "user", "content": waiting})
    return {**context, "messages": folded}


def _with_text_arguments(message: JsonObject) -> JsonObject:
    if "tool_calls" not in message:
        return message
    calls: list[JsonValue] = []
    for call in objects(message["tool_calls"]):
        function = as_object(call.get("function"))
        text = dump_json(function.get("arguments"))
        calls.append({**call, "function": {**function, "arguments": text}})
    return {**message, "tool_calls": calls}


def _with_parts(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}] if content else []}


def expected_texts(context: JsonMapping) -> list[str]:
    """Return what a rendered conversation has to hold: the beginnings of all its texts."""
    texts = []
    for message in objects(context.get("messages")):
        texts += [text.strip()[:_LOOKED_FOR] for text in _texts_of(message)]
        for call in objects(message.get("tool_calls")):
            texts.append(string(as_object(call.get("function")), "name") or "")
    return [text for text in texts if text]


def _texts_of(message: Mapping[str, JsonValue]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [string(part, "text") or "" for part in objects(content)]


def best(context: JsonMapping, rendered: Sequence[object]) -> int:
    """Return the index of the rendered form that lost the least; the earlier one if equal.

    What is no text counts as worse than any loss.
    """
    texts = expected_texts(context)

    def losses(index: int) -> tuple[int, int]:
        text = rendered[index]
        if not isinstance(text, str):
            return len(texts) + 1, index
        return sum(wanted not in text for wanted in texts), index

    return min(range(len(rendered)), key=losses)
