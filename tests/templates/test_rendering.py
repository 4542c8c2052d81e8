"""Templates give the text that the models were trained with."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.templates.conversation import context_of
from ollm_tui.templates.renderer import TemplateRenderer
from tests.support.corpus import load_cases, load_file, needs_corpus
from tests.templates.conversations import CONVERSATIONS
from tests.templates.samples import SAMPLES

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

pytestmark = pytest.mark.anyio
RECORDED = Path(__file__).parents[1] / "data" / "template_cases.json"
NOW = "2025-07-10T12:00:00+00:00"


@needs_corpus
async def test_the_recorded_cases() -> None:
    cases = load_cases("templates")
    async with TemplateRenderer() as renderer:
        for case in cases:
            text = await renderer.render(case["template"], case["context"], now=NOW)
            assert text == case["expected"], case["id"]
    assert len(cases) >= 37


@needs_corpus
async def test_a_template_without_a_system_role_has_it_in_front_of_the_question() -> None:
    cases = load_file("templates")["polyfills"]["cases"]
    async with TemplateRenderer() as renderer:
        for case in cases:
            text = await renderer.render_chat(case["template"], case["context"])
            assert text == case["expected"], case["id"]


async def test_the_samples_are_rendered_as_transformers_renders_them() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))["cases"]
    async with TemplateRenderer() as renderer:
        for sample, template in SAMPLES.items():
            for name, request in CONVERSATIONS.items():
                context = context_of(request, {"bos_token": "<s>", "eos_token": "</s>"})
                (text,) = await renderer.render_all(template, [context])
                is_text = isinstance(text, str)
                assert (text if is_text else None) == recorded[sample][name], (sample, name)


PIECES = {
    "{{ messages | tojson }}": '[{"role": "user", "content": "<é & \\"q\\">"}]',
    "{{ {'b': 1, 'a': 2} | tojson(indent=1) }}": '{\n "b": 1,\n "a": 2\n}',
    "{{ {'b': 1, 'a': 2} | tojson(sort_keys=True, separators=(',', ':')) }}": '{"a":2,"b":1}',
    "{{ 'é' | tojson(ensure_ascii=True) }}": '"\\u00e9"',
    "{{ strftime_now('%d %b %Y') }}": "10 Jul 2025",
    "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}": "01",
    "a\n  {% if true %}\nb\n  {% endif %}\nc": "a\nb\nc",
    "{% generation %}text{% endgeneration %}": "text",
    "{{ nothing }}|{% if tools is defined %}x{% endif %}{{ tools is none }}": "|False",
    "{{ messages[0].content }}": '<é & "q">',
}


async def test_what_hugging_face_adds_to_the_language() -> None:
    context: JsonObject = {"messages": [{"role": "user", "content": '<é & "q">'}]}
    async with TemplateRenderer() as renderer:
        for template, expected in PIECES.items():
            assert await renderer.render(template, context, now=NOW) == expected, template


async def test_a_template_may_refuse_a_conversation_in_its_own_words() -> None:
    async with TemplateRenderer() as renderer:
        with pytest.raises(AIError) as refused:
            await renderer.render("{{ raise_exception('Roles must\x1b[31m alternate.') }}", {})
    assert refused.value.message == (
        "The chat template was refused: it refuses this conversation: Roles must␛[31m alternate."
    )
    assert refused.value.hint is not None


async def test_an_error_of_the_language_names_its_line() -> None:
    async with TemplateRenderer() as renderer:
        with pytest.raises(AIError, match=r"not a valid template \(line 2: .*\)"):
            await renderer.render("a\n{% if %}", {})


TAKES_TEXT_ARGUMENTS = (
    "{% for m in messages %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments }}{% endfor %}"
    "{% endfor %}"
)
TAKES_PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"


async def test_a_template_gets_arguments_and_content_in_the_form_it_takes() -> None:
    call: JsonObject = {"function": {"name": "clock", "arguments": {"zone": "UTC"}}}
    context: JsonObject = {
        "messages": [
            {"role": "user", "content": "Time?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
    }
    plain: JsonObject = {"messages": [{"role": "user", "content": "Time?"}]}
    async with TemplateRenderer() as renderer:
        text = await renderer.render_chat(TAKES_TEXT_ARGUMENTS, context)
        assert text == 'Time?clock{"zone": "UTC"}'
        assert await renderer.render_chat(TAKES_PARTS, plain) == "Time?"
