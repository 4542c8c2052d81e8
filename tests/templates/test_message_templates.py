"""Messages that are templates: rendered in the child process, with nothing else rendered."""

import contextlib
import time
from dataclasses import replace

import anyio
import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.templates.message_templates import render_request
from ollm_tui.templates.renderer import TemplateRenderer
from tests.templates.test_limits import BOMBS, ENDLESS, ESCAPES

PICTURE = ImageContent(data=b"{{ secret }}")


def template(text: str, /, role: str = "user", **values: JsonValue) -> Message:
    return Message(role, text, template_format="jinja2", metadata={"template_values": values})


def asking(*messages: Message, **more: object) -> Request:
    return Request(model="m", messages=messages, **more)  # type: ignore[arg-type]


async def refusal(renderer: TemplateRenderer, request: Request) -> AIError:
    with pytest.raises(AIError) as refused:
        await render_request(request, {}, renderer)
    return refused.value


async def test_only_what_names_a_language_is_rendered() -> None:
    plain = Message("user", "{{ 1 + 1 }}", metadata={"a": 1})
    tool = Message("tool", "{{ 1 + 1 }}", name="t", tool_call_id="1")
    model = Message("assistant", "{% raw %}")
    whole = template(
        "{{ greeting }}, {{ name | upper }}! {{ bot_token }}\n", name="Ann", greeting="Hi"
    )
    hf = Message(
        "user", [TextContent("{# no #}2 * 3 = {{ 2 * 3 }}"), PICTURE], template_format="hf"
    )
    request = asking(
        plain, tool, model, whole, hf,
        system_prompt="Be {{ tone }}.", template_format="jinja2",
        template_values={"tone": "kind", "greeting": "overridden"},
    )  # fmt: skip
    async with TemplateRenderer() as renderer:
        made = await render_request(request, {"bot_token": "<|b|>", "tone": "dull"}, renderer)
    assert made.conversation[:3] == (plain, tool, model)
    assert [one.text for one in made.conversation[3:]] == ["Hi, ANN! <|b|>\n", "2 * 3 = 6"]
    assert made.conversation[4].content[1] is PICTURE
    assert made.conversation[3].metadata == whole.metadata
    assert made.system_prompt == "Be kind."
    assert not made.names_templates
    assert renderer.process_id is None


async def test_the_language_of_a_request_is_that_of_its_system_prompt_only() -> None:
    request = asking(Message("user", "{{ 1 }}"), system_prompt="{{ 1 }}", template_format="hf")
    async with TemplateRenderer() as renderer:
        made = await render_request(request, {}, renderer)
    assert (made.system_prompt, made.conversation[0].text) == ("1", "{{ 1 }}")


async def test_what_was_rendered_is_not_rendered_again() -> None:
    request = asking(template("{{ text }}", text="{{ 7 * 7 }}"))
    async with TemplateRenderer() as renderer:
        once = await render_request(request, {}, renderer)
        twice = await render_request(once, {}, renderer)
    assert once.conversation[0].text == twice.conversation[0].text == "{{ 7 * 7 }}"


async def test_a_text_without_marks_starts_no_process() -> None:
    async with TemplateRenderer(command=("/no/such/program",)) as renderer:
        made = await render_request(asking(template("hello\r\n")), {}, renderer)
        assert (made.conversation[0].text, made.names_templates) == ("hello\r\n", False)
        assert (
            "process that renders" in (await refusal(renderer, asking(template("{{ 1 }}")))).message
        )


async def test_a_variable_without_a_value_is_named_with_its_message() -> None:
    first = Message("user", "hi")
    async with TemplateRenderer() as renderer:
        error = await refusal(renderer, asking(first, template("Dear {{ recipient }}")))
        assert (
            error.message
            == "The user message 2 is a template whose variable 'recipient' has no value."
        )
        assert error.hint == (
            "Write {{ recipient | default('') }}, or put a value into `template_values` of the"
            " request or of the metadata."
        )
        assert error.code == ErrorCode.BAD_REQUEST
        error = await refusal(
            renderer, asking(first, system_prompt="{{ x }}", template_format="hf")
        )
        assert error.message == "The system prompt is a template whose variable 'x' has no value."
        error = await refusal(renderer, asking(template("{{ a.b }}", a={})))
        assert "it fails: 'dict object' has no attribute 'b'" in error.message
        optional = template("{{ x | default('none') }}{% if y is defined %}{{ y }}{% endif %}")
        made = await render_request(asking(optional), {}, renderer)
        assert made.conversation[0].text == "none"


async def test_a_template_refuses_with_its_own_words_or_for_its_syntax() -> None:
    async with TemplateRenderer() as renderer:
        error = await refusal(renderer, asking(template("{{ raise_exception('No name.') }}")))
        assert error.message.endswith(
            "is a template that was refused: it refuses this conversation: No name."
        )
        error = await refusal(renderer, asking(template("{% if %}")))
        assert "it is not a valid template (line 1" in error.message
        assert error.hint == "Correct it, or make it plain text."
        made = await render_request(
            asking(template("{{ strftime_now('%Y') | length }}")), {}, renderer
        )
        assert made.conversation[0].text == "4"


async def test_an_empty_text_is_refused_but_for_what_stands_beside_it() -> None:
    async with TemplateRenderer() as renderer:
        error = await refusal(renderer, asking(template("{% if 0 %}a{% endif %}")))
        assert error.message == "The user message 1 is a template, and empty when it is rendered."
        beside = Message("user", [TextContent("{# #}"), PICTURE], template_format="hf")
        request = asking(beside, system_prompt="{# #}", template_format="hf")
        made = await render_request(request, {}, renderer)
    assert made.conversation[0].content == (PICTURE,)
    assert made.system_prompt is None


@pytest.mark.parametrize("language", ["golang", "mustache", "\x1b[31m"])
async def test_a_language_that_cannot_be_rendered_is_refused(language: str) -> None:
    async with TemplateRenderer() as renderer:
        message = Message("user", "hello", template_format=language)
        error = await refusal(renderer, asking(message))
        assert error.code == ErrorCode.UNSUPPORTED_FEATURE
        assert error.message.startswith("The user message 1 is a template in the format")
        assert "\x1b" not in error.message
        plain = asking(Message("user", "hi"), system_prompt="Be brief.", template_format=language)
        made = await render_request(plain, {}, renderer)
        assert made.template_format == language, "the engine may render it"
        await refusal(
            renderer,
            asking(Message("user", "hi"), system_prompt="{{ .A }}", template_format=language),
        )


async def test_values_are_plain_json() -> None:
    circle: dict[str, object] = {}
    circle["self"] = circle
    async with TemplateRenderer() as renderer:
        for value in (b"bytes", object(), circle, {1: {2}}):
            error = await refusal(renderer, asking(template("{{ x }}", x=value)))  # type: ignore[arg-type]
            assert "its value 'x' is not plain JSON" in error.message
        values: dict[str, JsonValue] = {"n": None, "t": [1], "self": 1, "a b": 2, "caller": 3}
        odd = replace(template("{{ n }}{{ t }}"), metadata={"template_values": values})
        made = await render_request(asking(odd), {}, renderer)
    assert made.conversation[0].text == "None[1]"


async def test_only_the_values_of_the_metadata_are_variables() -> None:
    async with TemplateRenderer() as renderer:
        own = replace(template("{{ correction }}"), metadata={"correction": "a mark"})
        error = await refusal(renderer, asking(own))
        assert "variable 'correction' has no value" in error.message
        wrong = replace(template("{{ x }}"), metadata={"template_values": ["x"]})
        error = await refusal(renderer, asking(wrong))
        assert error.message == (
            "The user message 1 is a template whose `template_values` are no object."
        )


async def test_no_message_reaches_python() -> None:
    marks = ("<class", "<function", "root:", "uid=", "<module", "object at", "environment")
    async with TemplateRenderer() as renderer:
        for text in ESCAPES:
            with contextlib.suppress(AIError):
                made = await render_request(asking(template(text, messages=[{}])), {}, renderer)
                assert not any(mark in made.conversation[0].text for mark in marks), text


@pytest.mark.slow
async def test_a_message_that_takes_too_much_is_contained() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async with TemplateRenderer(render_s=0.5) as renderer, anyio.create_task_group() as group:
        group.start_soon(tick)
        hostile = [text for text in BOMBS if "{" in text]
        for text in (*hostile, ENDLESS, "{{ x }}" + "a" * (1024 * 1024)):
            began = time.monotonic()
            error = await refusal(renderer, asking(Message("user", "a"), template(text, x=1)))
            assert error.message.startswith("The user message 2 is a template that was refused: it")
            assert time.monotonic() - began < 20
        assert ticks > 5
        made = await render_request(asking(template("{{ 1 }}")), {}, renderer)
        assert made.conversation[0].text == "1"
        group.cancel_scope.cancel()


async def test_many_templates_share_one_limit_of_time() -> None:
    slow = "{% for i in range(99999) %}{% for j in range(10) %}{% endfor %}{% endfor %}{{ x }}"
    async with TemplateRenderer(render_s=0.4) as renderer:
        began = time.monotonic()
        error = await refusal(renderer, asking(*[template(slow, x=1)] * 200))
        assert error.code == ErrorCode.TIMEOUT
        assert time.monotonic() - began < 20


async def test_a_message_of_a_megabyte_is_rendered() -> None:
    text = "a" * (1024 * 1024 - 10) + "{{ x }}"
    async with TemplateRenderer() as renderer:
        made = await render_request(asking(template(text, x="!")), {}, renderer)
    assert len(made.conversation[0].text) == 1024 * 1024 - 9


async def test_the_signal_of_a_request_ends_the_rendering() -> None:
    signal = AbortSignal()
    async with TemplateRenderer() as renderer, anyio.create_task_group() as group:
        await renderer.render("{{ 1 }}", {})

        async def stop() -> None:
            await anyio.sleep(0.05)
            signal.abort()

        group.start_soon(stop)
        error = await refusal(renderer, asking(template(ENDLESS), signal=signal))
        assert error.code == ErrorCode.ABORTED
        assert renderer.process_id is None
