"""How the built-in engine loads a model, from the settings to what the chat says."""

import threading
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.models.capabilities import Fact, capabilities_of
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.chat_events import ChatEvent, Retrying, TextDelta
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.runtime.checkup import check_up
from ollm_tui.runtime.compose import Runtime, load_runtime
from tests.support.engine import needs_engine
from tests.support.seeing_gguf import NOTHING, write_seeing
from tests.support.sound_models import whisper_header
from tests.support.tiny_gguf import write_scripted

SETTINGS = """
[embedded]
threads = 1
server = "none"
cache_type_k = "q8_0"
cache_type_v = "q8_0"
[providers.box]
base_url = "http://127.0.0.1:9"
backend = "vllm"
[models."built-in://mine"]
path = "seeing.gguf"
draft_tokens = 4
draft_model = "seeing.gguf"
"""


BESIDE = """context: 512
template: "{{ messages[0]['content'] }}"
supports: [tools]
engineOptions:
  cache_type_k: q4_0
  cache_type_v: f16
  draft_model: seeing.gguf
"""


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    made = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    made.config_dir.mkdir()
    write_seeing(made.config_dir / "seeing.gguf", made.config_dir / "mmproj-f16.gguf")
    made.config_file.write_text(SETTINGS)
    return made


async def said(client: ChatClient) -> list[ChatEvent]:
    async with client.chat("what colour") as events:
        return [event async for event in events]


def open_runtime(paths: AppPaths) -> AbstractAsyncContextManager[Runtime]:
    return load_runtime(Flags(), {}, paths)()


async def test_the_details_name_what_a_model_is_loaded_with_and_where_it_is_set(
    paths: AppPaths,
) -> None:
    async with open_runtime(paths) as runtime:
        details = await runtime.manager.show(ModelRef("embedded", "mine"))
        takes = [runtime.manager.takes_window(f"{name}://m") for name in ("embedded", "box", "x")]
    rows = {row.name: (row.value, row.source) for row in details.settings}
    key = 'models."embedded://mine"'
    assert rows["path"][0] == rows["draft_model"][0] == str(paths.config_dir / "seeing.gguf")
    assert rows["draft_tokens"] == ("4", f"{paths.config_file}:12, {key}.draft_tokens")
    assert rows["cache_type_k"] == ("q8_0", f"{paths.config_file}:5, embedded.cache_type_k")
    assert details.info.capability is not None
    assert "image" in details.info.capability.input
    assert details.fit is not None
    assert details.fit.kv_type == "q8_0"
    assert takes == [True, False, True]


async def test_the_details_name_what_the_settings_beside_a_file_set(paths: AppPaths) -> None:
    plain = '[embedded]\nserver = "none"\ncache_type_v = "q8_0"\nmodel_folders = ["."]'
    paths.config_file.write_text(plain)
    seeing = ModelRef("embedded", "seeing")
    async with open_runtime(paths) as runtime:
        before = await runtime.manager.show(seeing)
        (paths.config_dir / "seeing.config.yaml").write_text(BESIDE)
        details = await runtime.manager.show(seeing)
    rows = {row.name: (row.value, row.source, row.layer) for row in details.settings}
    beside = "the settings beside the file (seeing.config.yaml"
    assert rows["num_ctx"] == ("512", f"{beside}:1)", "sidecar")
    assert rows["chat_template"] == ("a text of 28 characters", f"{beside}:2)", "sidecar")
    assert rows["cache_type_k"] == ("q4_0", f"{beside}:5)", "sidecar")
    assert rows["cache_type_v"][0] == "q8_0"
    below = next(row for row in details.settings if row.name == "cache_type_v").beneath
    assert [(one.value, one.source) for one in below] == [("f16", f"{beside}:6)")]
    assert details.template == "{{ messages[0]['content'] }}"
    assert details.info.details["template_from"] == "template of seeing.config.yaml"
    assert before.info.details["template_from"] == "the model file"
    assert details.context is not None
    assert (details.context.tokens, details.context.source) == (512, f"{beside}:1)")
    assert capabilities_of(details.info).tools == Fact(True, "set")
    assert before.fit is not None
    assert details.fit is not None
    draft = (paths.config_dir / "seeing.gguf").stat().st_size
    assert before.fit.beside == 0
    assert draft < details.fit.beside < details.fit.needed


async def test_the_details_name_the_template_of_a_family_for_a_file_without_one(
    paths: AppPaths,
) -> None:
    paths.config_file.write_text('[embedded]\nserver = "none"\nmodel_folders = ["."]')
    write_scripted(paths.config_dir / "Llama-3.2-1B.gguf", None)
    write_scripted(paths.config_dir / "other.gguf", None)
    async with open_runtime(paths) as runtime:
        details = await runtime.manager.show(ModelRef("embedded", "Llama-3.2-1B"))
        other = await runtime.manager.show(ModelRef("embedded", "other"))
    row = next(row for row in details.settings if row.name == "chat_template")
    assert details.template is not None
    assert row.value == f"a text of {len(details.template):,} characters"
    assert row.source.startswith("the family Llama, variant llama3.2 (llama.yaml:")
    assert row.layer == "family"
    assert not any(row.name == "chat_template" for row in other.settings)


@pytest.mark.engine
@needs_engine
async def test_the_prompt_says_whose_template_it_is_made_with(paths: AppPaths) -> None:
    template = "{{ messages[0]['content'] }}?"
    (paths.config_dir / "own.jinja").write_text(template)
    own = '[models."built-in://mine"]\nchat_template = "own.jinja"\n'
    settings = SETTINGS.replace('[models."built-in://mine"]\n', own)
    paths.config_file.write_text(settings)
    async with open_runtime(paths) as runtime:
        client = runtime.new_client("embedded://mine")
        prompt = await runtime.exact_prompt(client.conversation, "what colour")
    assert prompt.text == "what colour?"
    assert prompt.notes[1:] == (
        "The model's template, rendered here, gives the same.",
        f"The chat template is not that of the model file: {paths.config_dir / 'own.jinja'}.",
    )


@pytest.mark.engine
@needs_engine
async def test_the_chat_says_that_another_window_is_loaded(paths: AppPaths) -> None:
    async with open_runtime(paths) as runtime:
        client = runtime.new_client("embedded://mine")
        await said(client)
        client.conversation.options = GenerationOptions(num_ctx=2048)
        events = await said(client)
    (note,) = [event for event in events if isinstance(event, Retrying)]
    assert f"{note.why} {note.instead}" == (
        "mine was loaded with a context window of 4,096 tokens, and 2,048 are asked for. "
        "It is loaded again."
    )
    assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == NOTHING


async def test_the_engine_is_looked_for_once_and_not_in_the_event_loop(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, made = [], []
    begin = KnownModels.__init__

    def find(*_: object) -> Path:
        looks.append(threading.current_thread())
        return paths.config_file

    def init(self: KnownModels, *given: Path) -> None:
        made.append(self)
        begin(self, *given)

    monkeypatch.setattr("ollm_tui.providers.embedded.settings.find_program", find)
    monkeypatch.setattr(KnownModels, "__init__", init)
    paths.config_file.write_text(SETTINGS.replace('server = "none"\n', ""))
    async with open_runtime(paths) as runtime:
        mine = ModelRef("embedded", "mine")
        assert (await runtime.manager.unavailable_reasons(mine))["load"] is None
        assert (await runtime.manager.show(mine)).info.details["engine"] == str(paths.config_file)
        await runtime.first_model([])
        await check_up(runtime)
    assert len(looks) == len(made) == 1
    assert looks[0] is not threading.current_thread()


async def test_a_model_that_hears_has_neither_a_window_nor_sampling(paths: AppPaths) -> None:
    paths.models_dir.mkdir(parents=True)
    (paths.models_dir / "ggml-base.bin").write_bytes(whisper_header())
    sidecar = paths.models_dir / "ggml-base.config.yaml"
    sidecar.write_text("engineOptions: {threads: 3, language: de}\n", "utf-8")
    async with open_runtime(paths) as runtime:
        details = await runtime.manager.show(ModelRef("embedded", "ggml-base"))
    assert details.context is None
    rows = {row.name: (row.value, row.source) for row in details.settings}
    assert rows.keys() == {"threads", "keep_alive", "language"}
    assert rows["threads"] == ("1", f"{paths.config_file}:3, embedded.threads")
    assert rows["language"] == ("de", "the settings beside the file (ggml-base.config.yaml:1)")
