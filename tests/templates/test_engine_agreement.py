"""Rendering here gives, byte for byte, what the built-in engine makes of the same template."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.request import Request
from ollm_tui.templates.conversation import context_of
from ollm_tui.templates.renderer import TemplateRenderer
from tests.support.corpus import load_cases, load_file, needs_corpus
from tests.support.engine import embedded, needs_engine
from tests.support.tiny_gguf import BOS, IM_END, TEMPLATE, write_scripted
from tests.templates.conversations import CONVERSATIONS

pytestmark = [pytest.mark.engine, needs_engine]

NO_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('No!') }}{% endif %}"
    "{% if m.role == 'user' %}{{ '[INST] ' + m.content | trim + ' [/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ m.content + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant!') }}{% endif %}{% endfor %}"
)
THINKS = (
    "{%- for m in messages %}\n"
    "    {{- '<|' + m.role + '|>' + m.content }}\n"
    "    {%- for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}\n"
    "{%- endfor %}\n"
    "{%- if tools %}{{ tools | tojson(indent=2) }}{% endif %}\n"
    "{%- if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}\n"
    "{%- endif %}"
)
REFUSED = "refused"


async def told_and_rendered(
    folder: Path, template: str, renderer: TemplateRenderer
) -> Mapping[str, tuple[str, str]]:
    """Give for each conversation what the engine makes of it, and what is made of it here."""
    write_scripted(folder / "m.gguf", template)
    pairs = {}
    async with embedded(folder) as (provider, _):
        for name, request in CONVERSATIONS.items():
            try:
                told = (await provider.prompt_text(request)).text
            except AIError:
                told = REFUSED
            pairs[name] = (told, await rendered(request, template, renderer, told))
    return pairs


async def rendered(request: Request, template: str, renderer: TemplateRenderer, told: str) -> str:
    context = context_of(request, {"bos_token": BOS, "eos_token": IM_END})
    text = await renderer.render_chat(template, context)
    if not isinstance(text, str):
        return REFUSED
    return text if told.startswith(BOS) else text.removeprefix(BOS)  # the engine adds it later


@pytest.mark.parametrize(
    "template", [TEMPLATE, NO_SYSTEM, THINKS], ids=["tiny", "no system", "thinks"]
)
async def test_some_templates(tmp_path: Path, template: str) -> None:
    async with TemplateRenderer() as renderer:
        for name, (told, ours) in (await told_and_rendered(tmp_path, template, renderer)).items():
            assert ours == told, name


EXPLAINED = {
    "hf-CohereForAI-c4ai-command-r-v01": (
        "it wants tools without the frame of `function`; the engine takes what is undefined as "
        "empty, jinja2 refuses it"
    ),
    "hf-ai21labs-AI21-Jamba-Large-1.6": "the engine finds no parser for its calls, and refuses",
    "llama-yandex-YandexGPT-5-Lite-8B-instruct": (
        "it names the tool of a result, which is not sent to the engine"
    ),
}
"""The templates that differ where tools are, and why."""
PLAIN = [name for name, request in CONVERSATIONS.items() if not request.tools]


@needs_corpus
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [*load_cases("templates"), *load_file("templates").get("polyfills", {"cases": []})["cases"]],
    ids=lambda case: case["id"],
)
async def test_every_recorded_template(tmp_path: Path, case: Mapping[str, str]) -> None:
    async with TemplateRenderer() as renderer:
        pairs = await told_and_rendered(tmp_path, case["template"], renderer)
    names = PLAIN if case["id"] in EXPLAINED else CONVERSATIONS
    assert {name: pairs[name][1] for name in names} == {name: pairs[name][0] for name in names}
