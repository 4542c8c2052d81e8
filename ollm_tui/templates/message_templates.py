"""Messages and system prompts that are templates, rendered before a request is sent.

Only what names its language is a template: `template_format` of a message, and that of the request
for the system prompt. Text that users, models, tools and files write stays as it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import Block, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.message import JINJA, TEMPLATE_VALUES, Message, has_template_marks
from ollm_tui.protocol.request import Request
from ollm_tui.tasks import cancelled_by
from ollm_tui.templates.renderer import TEMPLATE_LIMIT, Refusal, TemplateRenderer

_MISSING: Final = lazy_re(r"'([^']*)' is undefined")
_LIMITS: Final = frozenset({"time", "memory", "too_large", "too_long", "too_deep"})


@dataclass(frozen=True, slots=True)
class _Template:
    """One text to be rendered."""

    position: int | None
    """The place of its message; None is the system prompt."""
    block: int
    place: str
    """What it is in words, to begin a sentence."""
    text: str
    values: JsonMapping


async def render_request(
    request: Request, words: Mapping[str, str], renderer: TemplateRenderer
) -> Request:
    """Return a request whose texts are all plain.

    `words` are variables with lower priority than those of the request. Another format of the
    request than Jinja's stays if its system prompt is plain: the engine may render that.

    Raises:
        AIError: a template cannot be rendered, or its variables have no values; ABORTED if the
            signal of the request came first.
    """
    templates = [*_templates(request, words)]
    texts: list[str] = []
    if templates:
        with cancelled_by(request.signal) as scope:
            texts = await _render(templates, renderer)
        if scope.cancelled_caught:
            raise AIError(ErrorCode.ABORTED, "The request was stopped.")
    return _filled(request, templates, texts)


async def render_instructions(text: str, values: JsonMapping, renderer: TemplateRenderer) -> str:
    """Return instructions for thinking, which a family has as a template.

    Raises:
        AIError: BAD_REQUEST if it cannot be rendered, or a variable has no value.
    """
    (rendered,) = await renderer.render_texts([(text, values)])
    if isinstance(rendered, str):
        return rendered.strip()
    raise AIError(
        ErrorCode.BAD_REQUEST,
        f"The instructions for thinking are a template that was refused: {rendered.reason}.",
        hint="Correct `defaultThinkPrompt` of the family, or of the settings beside the file.",
    )


def _templates(request: Request, words: Mapping[str, str]) -> Iterator[_Template]:
    values: JsonObject = {**words, **(request.template_values or {})}
    prompt = request.system_prompt or ""
    if request.template_format is not None and has_template_marks(prompt):
        _require_jinja(request.template_format, "The system prompt")
        yield _Template(None, 0, "The system prompt", prompt, values)
    for position, message in enumerate(request.messages or ()):
        if message.template_format is None:
            continue
        place = f"The {clean_line(message.role)[:40]} message {position + 1}"
        _require_jinja(message.template_format, place)
        all_values = {**values, **_own_values(message, place)}
        for number, block in enumerate(message.content):
            if isinstance(block, TextContent) and has_template_marks(block.text):
                yield _Template(position, number, place, block.text, all_values)


def _own_values(message: Message, place: str) -> JsonMapping:
    values = message.metadata.get(TEMPLATE_VALUES)
    if values is None or isinstance(values, dict):
        return values or {}
    raise AIError(
        ErrorCode.BAD_REQUEST,
        f"{place} is a template whose `{TEMPLATE_VALUES}` are no object.",
        hint="Put the variables there by name.",
    )


def _require_jinja(language: str, place: str) -> None:
    if language not in JINJA:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{place} is a template in the format {clean_line(language)[:40]!r}, which cannot be"
            " rendered.",
            hint="Use hf or jinja2, or send the text itself without `template_format`.",
        )


async def _render(templates: Sequence[_Template], renderer: TemplateRenderer) -> list[str]:
    long = next((one for one in templates if len(one.text) > TEMPLATE_LIMIT), None)
    if long is not None:
        raise _refused(long, Refusal("too_large", "it is longer than 1 million characters"))
    await to_thread.run_sync(_check_values, templates)  # they may be large
    texts: list[str] = []
    rendered = await renderer.render_texts([(one.text, one.values) for one in templates])
    for template, text in zip(templates, rendered, strict=True):
        if isinstance(text, Refusal):
            raise _refused(template, text)
        texts.append(text)
    return texts


def _check_values(templates: Sequence[_Template]) -> None:
    for template in templates:
        for name, value in template.values.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError, RecursionError):
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"{template.place} is a template, and its value {clean_line(str(name))[:40]!r}"
                    " is not plain JSON.",
                    hint="Use texts, numbers, lists and objects only.",
                ) from None


def _refused(template: _Template, refusal: Refusal) -> AIError:
    missing = _MISSING.search(refusal.message) if refusal.kind == "undefined" else None
    if missing is not None:
        of_message = "" if template.position is None else " or of the metadata"
        return AIError(
            ErrorCode.BAD_REQUEST,
            f"{template.place} is a template whose variable {missing[1]!r} has no value.",
            hint=f"Write {{{{ {missing[1]} | default('') }}}}, or put a value into"
            f" `{TEMPLATE_VALUES}` of the request{of_message}.",
        )
    code = ErrorCode.TIMEOUT if refusal.kind == "time" else ErrorCode.BAD_REQUEST
    advice = "Make it shorter, or" if refusal.kind in _LIMITS else "Correct it, or"
    return AIError(
        code,
        f"{template.place} is a template that was refused: {refusal.reason}.",
        hint=f"{advice} make it plain text.",
    )


def _filled(request: Request, templates: Sequence[_Template], texts: Sequence[str]) -> Request:
    """Return the request with the rendered texts in their places, and no template any more."""
    new = {(one.position, one.block): text for one, text in zip(templates, texts, strict=True)}
    places = {one.position: one.place for one in templates}
    messages = request.messages and [
        _plain(message, position, new, places.get(position))
        for position, message in enumerate(request.messages)
    ]
    is_jinja = request.template_format in JINJA
    return replace(
        request,
        messages=messages,
        system_prompt=new.get((None, 0), request.system_prompt) or None,
        template_format=None if is_jinja else request.template_format,
        template_values=None,
    )


def _plain(
    message: Message, position: int, new: Mapping[tuple[int | None, int], str], place: str | None
) -> Message:
    if message.template_format is None:
        return message
    content: list[Block] = []
    for number, block in enumerate(message.content):
        text = new.get((position, number))
        if text is None:
            content.append(block)
        elif text:
            content.append(TextContent(text))
    if not content and not message.tool_calls and place is not None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{place} is a template, and empty when it is rendered.",
            hint="Check its conditions and values.",
        )
    return replace(message, content=tuple(content), template_format=None)
