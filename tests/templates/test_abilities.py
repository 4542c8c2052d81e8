"""What a template supports, tried out or read."""

import pytest

from ollm_tui.templates.abilities import (
    TemplateAbilities,
    abilities_of_go,
    template_abilities,
    template_format,
)
from ollm_tui.templates.go_template import actions_of, fields_of, thinking_tags
from ollm_tui.templates.renderer import TemplateRenderer
from tests.support.corpus import load_cases, load_file, needs_corpus

NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
)
EVERYTHING = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{{ documents | default('') }}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    "{% endif %}"
)
SINGLE_CALLS = EVERYTHING.replace(
    "{% for c in",
    "{% if (m.tool_calls or []) | length > 1 %}{{ raise_exception('One') }}{% endif %}{% for c in",
)
CLOCK = "{% for m in messages %}{{ m.content }}{{ strftime_now('%f') }}{% endfor %}"
ALWAYS_THINKS = "{% for m in messages %}{{ m.content }}{% endfor %}<|assistant|><think>\n"


@pytest.mark.anyio
async def test_what_comes_out_is_supported() -> None:
    async with TemplateRenderer() as renderer:

        async def of(template: str) -> TemplateAbilities:
            return await template_abilities(renderer, template)

        plain = await of(NO_SYSTEM)
        assert (plain.system, plain.tools, plain.thinking, plain.parallel_calls) == (False,) * 4
        able = await of(EVERYTHING)
        assert (able.system, able.tools, able.parallel_calls, able.documents) == (True,) * 4
        assert (able.thinking, able.thinking_switch, able.starts_thinking) == (True, True, False)
        assert (await of(SINGLE_CALLS)).parallel_calls is False
        thinks = await of(ALWAYS_THINKS)
        assert (thinks.thinking, thinks.thinking_switch, thinks.starts_thinking) == (
            True,
            False,
            True,
        )
        assert (await of(CLOCK)).thinking_switch is False
        broken = await of("{% if %}")
        assert broken.tools is None
        assert broken.problem is not None
        assert broken.problem.startswith("it is not a valid template")


RECORDED = {
    "hf-Qwen-Qwen3-0.6B": (True, True, True, True),
    "hf-mistralai-Mistral-7B-Instruct-v0.3-JSON-Schema": (True, False, False, True),
    "hf-HuggingFaceTB-SmolLM3-3B": (True, True, True, False),
    "hf-bloom": (False, True, False, False),
    "llama-google-gemma-7b-it": (False, False, False, False),
    "llama-phi-4": (False, True, False, False),
}


@needs_corpus
@pytest.mark.anyio
async def test_recorded_templates() -> None:
    cases = [*load_cases("templates"), *load_file("templates")["polyfills"]["cases"]]
    async with TemplateRenderer() as renderer:
        for case in cases:
            if case["id"] in RECORDED:
                found = await template_abilities(renderer, case["template"])
                shown = (found.tools, found.system, found.thinking, found.parallel_calls)
                assert shown == RECORDED[case["id"]], case["id"]


GO = """{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{"name": "{{ "}}" }}"}
{{- /* .Suffix is not used */}}
{{- range .Tools }}{{ .Function }}{{ end }}{{ end }}
{{- range $i, $_ := .Messages }}
{{- if (and $.IsThinkSet (and .Thinking (gt $i 1))) -}}
<think>{{ .Thinking }}</think>{{ end }}
{{- range .ToolCalls }}{{ .Function.Name }} {{ json .Function.Arguments }}{{ end }}
{{- if and $.IsThinkSet (not $.Think) }}`.Fake`{{ `.AlsoFake` }}{{ end }}{{ end }}"""


def test_the_fields_of_a_go_template() -> None:
    fields = fields_of(GO)
    assert {"system", "tools", "messages", "thinking", "toolcalls", "think"} <= fields
    assert fields & {"suffix", "fake", "alsofake"} == set()
    assert fields_of("{{- /* don't use .A }} */ -}}{{ .B }} can't {{ .C }}") == {"b", "c"}
    assert fields_of("{{/* .A {{ .B }}") == frozenset()


def test_a_go_template_supports_what_it_mentions() -> None:
    able = abilities_of_go(GO)
    assert (able.tools, able.system, able.thinking, able.parallel_calls) == (True,) * 4
    old = abilities_of_go("{{ if .System }}{{ .System }}{{ end }}{{ .Prompt }}{{ .Response }}")
    assert (old.tools, old.system, old.thinking, old.parallel_calls) == (False, True, False, False)


THINKS = {
    "{{ range .Messages }}<t> {{ .Thinking }}{{/* { }} */}} </t>{{ end }}": ("<t>", "</t>"),
    "{{ range .Messages }}{{ if .Thinking }}<t>{{ .Thinking }}</t>{{ end }}{{ end }}": (
        "<t>",
        "</t>",
    ),
    "{{ range .Messages }}<t>{{ .Thinking }}{{ end }}": ("<t>", ""),
    "{{ range .Messages }}{{ .Thinking }}{{ end }}": ("", ""),
    "{{ range .Messages }}<t>{{ .Thinking }}\n{{ end }}": ("<t>", ""),
    "{{ range .Messages }}<t>{{ .Thinking }}{{- /* c */ -}} </t>{{ end }}": ("<t>", "</t>"),
    "{{ range .Tools }}<t>{{ .Thinking }}</t>{{ end }}": ("", ""),
    "{{ range .Messages }}{{ range .Tools }}<t>{{ .Thinking }}</t>{{ end }}{{ end }}": ("", ""),
    "{{ range .Messages }}<t>{{ if .A }}{{ else }}<u>{{ .Thinking }}</u>{{ end }}</t>{{ end }}": (
        "<u>",
        "</u>",
    ),
    "{{ range .Messages }}{{ if .A }}<t>{{ else if .Thinking }}</t>{{ end }}{{ end }}": ("", ""),
    "{{ range .Messages }}<t>{{ $.Thinking }}{{ .A.Thinking }}</t>{{ end }}": ("", ""),
    "<t>{{ .Thinking }}</t>{{ if $.Think }}/think{{ end }}": ("", ""),
    '{{ define "x" }}{{ range .Messages }}<t>{{ .Thinking }}</t>{{ end }}{{ end }}': ("", ""),
    "{{ end }}{{ end }}{{ range .Messages }}<t>{{ .Thinking }}</t>": ("<t>", "</t>"),
}


def test_a_go_template_thinks_where_tags_are_around_it() -> None:
    for template, tags in THINKS.items():
        assert thinking_tags(template) == tags, template
        assert abilities_of_go(template).thinking == all(tags), template


def test_quotes_in_a_comment_hide_nothing() -> None:
    assert fields_of("{{/* don't */}}{{ .Tools }}{{- /* isn't }} .Fake */ -}}{{ .A }}") == {
        "tools",
        "a",
    }
    assert fields_of("{{ .A }}{{/* open {{ .B }}") == {"a"}


def test_the_language_of_a_template() -> None:
    assert template_format(GO) == "golang"
    assert template_format("{{ .Prompt }}") == "golang"
    assert template_format("{{ messages[0].content }}") == "hf"
    assert template_format(EVERYTHING) == "hf"
    assert template_format("no template") is None


def test_a_broken_go_template_is_read_as_far_as_it_goes() -> None:
    assert list(actions_of('{{ .A }}{{ "open }} {{ .B')) == [".A", '"open']
    assert fields_of("{{" * 1000 + "}}" * 1000) == frozenset()
    assert fields_of("{{ .A " * 100_000) == frozenset()
    assert thinking_tags("{{ range .Messages }}{{ .Thinking }}" * 10_000) == ("", "")
    assert thinking_tags("{{/*" * 10_000) == ("", "")
    assert fields_of('{{ "a\\" }} .B" .C }}') == {"c"}
