"""Rendering here gives, byte for byte, what the built-in engine makes of the same template.

The engine has a jinja of its own. It lacks the filter `format` and the options `sort_keys` and
`separators` of `tojson`, and takes what is undefined as empty where jinja2 refuses it.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.request import Request
from ollm_tui.templates.conversation import context_of
from ollm_tui.templates.renderer import TemplateRenderer
from tests.support.corpus import load_cases, load_file, needs_corpus
from tests.support.engine import embedded, needs_engine
from tests.support.seeds import sampled
from tests.support.tiny_gguf import BOS, IM_END, write_scripted
from tests.templates.conversations import CONVERSATIONS
from tests.templates.samples import SAMPLES

pytestmark = [pytest.mark.engine, needs_engine]

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


@pytest.mark.slow
@pytest.mark.parametrize("sample", sampled(SAMPLES, usual=3))
async def test_some_templates(tmp_path: Path, sample: str) -> None:
    template = SAMPLES[sample]
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
