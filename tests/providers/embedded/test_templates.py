"""A chat template of the user's takes the place of the one in a model file."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.embedded.chat_template import ChosenTemplate, TemplateCheck
from ollm_tui.providers.embedded.planner import Planner
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.sections.reading import read_section
from ollm_tui.templates.renderer import TemplateRenderer
from tests.providers.answers import answer, end_of, text_of
from tests.providers.embedded.test_server_program import seen
from tests.support import fake_llama_server
from tests.support.engine import MODEL, ask, needs_engine
from tests.support.seeing_gguf import write_lora
from tests.support.tiny_gguf import HELLO, UNICODE, write_scripted

OURS = (
    "{% for m in messages %}[{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}] "
    "{{ m.content }}\n{% endfor %}<|say:unicode|>"
)
SIDECAR = f"{MODEL}.config.yaml"


def settings(own: Mapping[str, object] | None = None, **more: object) -> EmbeddedSettings:
    model = read_section(ModelEngineSettings, own or {})
    usual = EngineSettings(threads=1)
    return EmbeddedSettings(engine=usual, models={MODEL: model}, load_timeout_s=60, **more)  # type: ignore[arg-type]


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A folder of its own with the scripted model."""
    os.link(model_folder / f"{MODEL}.gguf", tmp_path / f"{MODEL}.gguf")
    return tmp_path


@pytest.mark.engine
@needs_engine
async def test_the_engine_renders_with_the_template_of_settings_or_sidecar(folder: Path) -> None:
    beside, file = folder / SIDECAR, folder / "ours.jinja"
    file.write_text(OURS)
    prompt = "[user] hi\n<|say:unicode|>"
    async with EmbeddedProvider(FolderLibrary([folder]), settings()) as it:
        assert text_of(await answer(it, ask("hi"))) == HELLO
        beside.write_text(f"template: {OURS!r}".replace("'", '"'))
        assert text_of(await answer(it, ask("hi"))) == UNICODE
        assert (await it.prompt_text(ask("hi"))).text == prompt
        call = ToolCall(id="c1", name="get_weather", args={})
        result = Message("tool", "4 degrees", name="get_weather", tool_call_id="c1")
        messages = [Message("user", "hi"), Message("assistant", "", tool_calls=[call]), result]
        called = await it.prompt_text(replace(ask("hi"), messages=messages))
        assert called.text.endswith("[tool get_weather] 4 degrees\n<|say:unicode|>")
        shown = await it.show_model(MODEL)
        assert (shown.details["template"], shown.details["template_from"]) == (
            OURS,
            f"template of {SIDECAR}",
        )
        beside.write_text("engineOptions: {chat_template: ours.jinja}")
        assert (await it.prompt_text(ask("hi"))).text == prompt
    beside.write_text("template: '{{ messages[0].content }} of the sidecar'\ncontext: 1024")
    async with EmbeddedProvider(FolderLibrary([folder]), settings({"chat_template": file})) as it:
        assert (await it.prompt_text(ask("hi"))).text == prompt
        assert (await it.show_model(MODEL)).details["template_from"] == str(file)
        (loaded,) = await it.list_running()
        file.write_text("{{ messages[0].content.swapcase() }}{{ messages[0].content }}")
        end = end_of(await answer(it, ask("hi")))
    assert loaded.context == 1024
    assert isinstance(end, ErrorEvent)
    assert f"cannot use the chat template of {MODEL}: Callee is not" in end.error.message
    assert end.error.hint == "Correct the template, or remove it."


async def test_llama_server_gets_the_template_and_what_the_sidecar_says(folder: Path) -> None:
    program = fake_llama_server.write(folder / "bin" / "llama-server")
    write_lora(folder / "red.gguf")
    long = OURS + "{# " + "é" * 40_000 + " #}"  # more than a pipe holds
    (folder / "long.jinja").write_text(long)
    options = "cache_type_k: q8_0, gpu_layers: 3, chat_template: long.jinja"
    (folder / SIDECAR).write_text(f"context: 1000\nengineOptions: {{{options}}}")
    given = settings({"gpu_layers": 1}, program=program)
    async with EmbeddedProvider(FolderLibrary([folder]), given) as it:
        assert text_of(await answer(it, ask("hi"))) == fake_llama_server.REPLY
    arguments = seen(program)["arguments"]
    wanted = {"--chat-template": long, "--ctx-size": "1000", "--cache-type-k": "q8_0"}
    assert arguments.items() >= {**wanted, "--n-gpu-layers": "1"}.items()


OF_FAMILIES = {
    "Llama-3.2-1B-Instruct": (
        "<|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "template of the family Llama, variant llama3.2 (llama.yaml:",
    ),
    "gemma-3-1b-it": (
        "<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n",
        "template of the family Gemma, variant gemma3-text (gemma.yaml:",
    ),
    "Qwen3-0.6B": (
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
        "template of the family ChatML (chatml.yaml:",
    ),
}


@pytest.mark.engine
@needs_engine
async def test_a_file_without_a_template_gets_that_of_its_family(tmp_path: Path) -> None:
    for name in OF_FAMILIES:
        write_scripted(tmp_path / f"{name}.gguf", None)
    write_scripted(tmp_path / "Llama-3.2-own.gguf", OURS)
    async with EmbeddedProvider(FolderLibrary([tmp_path]), settings()) as it:
        listed = {info.name: info for info in await it.list_models()}
        for name, (prompt, origin) in OF_FAMILIES.items():
            shown = await it.show_model(name)
            assert str(shown.details["template_from"]).startswith(origin)
            capability = listed[name].capability
            assert capability is not None
            assert "multi_turn" in capability.features
            asked = replace(ask("hi"), model=name)
            assert (await it.prompt_text(asked)).text.removeprefix("<|bos|>") == prompt
        own = await it.show_model("Llama-3.2-own")
        assert own.details["template_from"] == "the model file"
        (tmp_path / "Qwen3-0.6B.config.yaml").write_text(f"template: {OURS!r}".replace("'", '"'))
        beside = await it.show_model("Qwen3-0.6B")
        assert beside.details["template_from"] == "template of Qwen3-0.6B.config.yaml"


BAD = {
    "{% if %}": "it is not a valid template (line 1",
    "{{ raise_exception('not for you') }}": "it refuses this conversation: not for you.",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}": "it takes ",
    "You are helpful. {{ bos_token }}": "it leaves out the question.",
    "{{ messages[0].content.x.y }}": "it fails: ",
}


async def test_a_template_that_cannot_render_a_question_is_refused_in_one_sentence() -> None:
    check = TemplateCheck(TemplateRenderer(render_s=0.5))
    try:
        for text, reason in BAD.items():
            with pytest.raises(AIError) as refused:
                await check.check(ChosenTemplate(text, "/a/b.jinja"))
            start = "The chat template (/a/b.jinja) cannot be used: "
            assert refused.value.message.startswith(start + reason), text
            assert refused.value.code == ErrorCode.BAD_REQUEST
        await check.check(ChosenTemplate(OURS, "x"))
    finally:
        check.close()


REFUSED = {
    "template: '{{ .Prompt }}'": "it is in Go's language, which only Ollama renders",
    f"templateFormat: golang\ntemplate: {OURS[:20]!r}": "it is in Go's language",
    "engineOptions: {chat_template: none.jinja}": "none.jinja) cannot be used: it does not exist",
    "engineOptions: {chat_template: long.jinja}": "it is longer than 100000 bytes",
    "engineOptions: {chat_template: bytes.jinja}": "it is not UTF-8 text",
    'template: "{{ messages }}\\0"': "it holds a NUL character",
    "engineOptions: {lora: [none.gguf]}": "none.gguf does not exist",
    "engineOptions: {draft_tokens: 3}": "`draft_tokens`, and no `draft_model`",
    "engineOptions: {lora: [out.gguf]}": "names a link to another folder: out.gguf",
}


async def test_a_model_is_not_loaded_with_what_cannot_be_used(folder: Path) -> None:
    (folder / "long.jinja").write_text(OURS + " " * 100_000)
    (folder / "bytes.jinja").write_bytes(b"{{ messages }}\xff")
    (folder / "out.gguf").symlink_to("/etc/passwd")
    given = settings(program=fake_llama_server.write(folder / "bin" / "llama-server"))
    async with EmbeddedProvider(FolderLibrary([folder]), given) as it:
        for text, sentence in REFUSED.items():
            (folder / SIDECAR).write_text(text)
            end = end_of(await answer(it, ask("hi")))
            assert isinstance(end, ErrorEvent), text
            assert sentence in end.error.message
            if "none.gguf" in text:
                assert end.error.hint == f"Change or remove `engineOptions.lora` in {SIDECAR}."
            shown = await it.show_model(MODEL)
            if "emplate" in text:
                assert shown.details["template_problem"] == end.error.message
    assert not (folder / "bin" / "seen.json").exists()


def test_the_list_has_what_the_sidecar_says_and_what_is_loaded_with_a_model(folder: Path) -> None:
    write_lora(folder / "zz.gguf")
    planner = Planner(FolderLibrary([folder]), settings(), KnownModels(), is_installed=lambda: True)
    (plain, _) = planner.models()
    text = "context: 99999999\nsupports: [vision, thinkMode: ['off']]\n"
    (folder / SIDECAR).write_text(f"{text}engineOptions: {{lora: [zz.gguf]}}")
    (told, _) = planner.models()
    assert plain.capability is not None
    assert told.capability is not None
    assert "thinking" in plain.capability.features
    assert "thinking" not in told.capability.features
    assert "tool_use" in told.capability.features
    assert "image" in told.capability.input
    assert told.chosen == {"vision", "thinking"}
    assert (plain.context, told.context) == (4096, 32_768)  # no more than it was trained for
    assert told.details["loaded_with"] == [str(folder / "zz.gguf")]
    assert told.details["loaded_with_bytes"] == (folder / "zz.gguf").stat().st_size
    (folder / SIDECAR).write_text("supports: [vision, thinkMode: [deep]]")
    (agreeing, _) = planner.models()
    assert agreeing.chosen == {"vision"}, "that its template thinks is the engine's word"
    (folder / SIDECAR).write_text("template: '{{ messages }}'")
    (rendered, _) = planner.models()
    assert rendered.capability is not None
    assert rendered.capability.features.isdisjoint({"tool_use", "thinking"})
    assert rendered.chosen == frozenset()
    chosen = EmbeddedSettings(context=2048, is_context_set=True)
    assert chosen.window_of(MODEL, trained=32_768, sidecar=1024) == 2048
    assert settings().window_of(MODEL, trained=None, sidecar=1024) == 1024
