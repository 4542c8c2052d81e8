"""Thinking from a chat to the real engine and back, by what families and sidecars say."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.chat.thinking import ModelThinking
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import ShouldThink, ThinkingConfig
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.model_lookup import find_thinking
from tests.support.engine import COLOUR, WEATHER, embedded, needs_engine
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import serve
from tests.support.tiny_gguf import (
    AFTER_TOOL,
    ANSWER,
    END_THINK,
    HELLO,
    SCRIPTS,
    THINK,
    THOUGHT,
    write_scripted,
)
from tests.support.tools import ScriptedTool, runner_for

HEAD = r"""
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' + message.content }}
    {%- if not (loop.last and message.role == 'assistant') %}{{- '<|im_end|>\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"""
ALWAYS = HEAD + "{{- '<think>' }}{%- endif %}"
SWITCHED = (
    HEAD + "{%- if enable_thinking %}{{- '<think>' }}{%- else %}{{- '<|say:hello|>' }}{%- endif %}"
    "{%- endif %}"
)
TOLD = HEAD + (
    "{%- if 'thinking between' in messages[0].content %}{{- '<|say:think|>' }}"
    "{%- else %}{{- '<|say:hello|>' }}{%- endif %}{%- endif %}"
)
ASKED = HEAD + (
    "{%- if tools and messages[-1].role != 'tool' %}{{- '<think>' }}"
    "{%- else %}{{- '<|say:after|>' }}{%- endif %}{%- endif %}"
)
FOUR, PLAINLY = "So it is four.", "Plainly: four!"
AFTER = {THINK: f"\n{THOUGHT}.\n{END_THINK}\n\n{FOUR}", END_THINK: PLAINLY}
ALWAYS_ON, HYBRID, BEGUN, TAUGHT = "qwq-tiny", "qwen3.5-tiny", "begun", "taught"
SIDECARS = {
    BEGUN: r"""
        supports: [thinkMode: [deep, off]]
        shouldThink: {mode: deep, thinkTag: [<think>, </think>], startsOpen: true}
        prompt: {blankThink: "\n</think>"}
    """,
    TAUGHT: """
        supports: [thinkMode: [first, off]]
        shouldThink: {mode: off, thinkTag: [<think>, </think>], visible: false}
    """,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    templates = {ALWAYS_ON: ALWAYS, HYBRID: SWITCHED, BEGUN: ALWAYS, TAUGHT: TOLD}
    for name, template in templates.items():
        write_scripted(folder / f"{name}.gguf", template, after=AFTER)
    for name, text in SIDECARS.items():
        (folder / f"{name}.config.yaml").write_text(text, "utf-8")
    return folder


@asynccontextmanager
async def chats(folder: Path) -> AsyncIterator[ChatParts]:
    async with embedded(folder) as (provider, _):
        registry = ProviderRegistry()
        registry.register(provider)
        thinking = ModelThinking(find_thinking(KnownModels(), ()))
        yield ChatParts(router=Router(registry, ModelCatalog(registry)), thinking=thinking)


async def ask(parts: ChatParts, model: str, wish: ShouldThink | None) -> Message | str:
    """Return the saved answer, or the sentence of the refusal."""
    client = ChatClient(parts, Conversation(model=f"embedded://{model}"))
    async with client.chat("2+2?", ChatOptions(should_think=wish)) as events:
        end = [event async for event in events][-1]
    question, *answer = client.conversation.messages
    assert question.text == "2+2?"
    return str(end.error) if isinstance(end, ErrorEvent) else answer[0]


def divided(answer: Message | str) -> tuple[str, str]:
    assert isinstance(answer, Message)
    thinking = "".join(getattr(one, "text", "") for one in answer.content if one.type == "thinking")
    return thinking, answer.text


@pytest.mark.engine
@needs_engine
async def test_the_real_engine_is_switched_and_its_answers_are_divided(folder: Path) -> None:
    thought = f"{THOUGHT}."
    async with chats(folder) as parts:
        for wish in (None, True, "deep"):
            assert divided(await ask(parts, ALWAYS_ON, wish)) == (thought, FOUR)
        refused = await ask(parts, ALWAYS_ON, False)
        assert refused == (
            "This model always thinks: it cannot be switched off. Available: on, deep."
        )
        assert divided(await ask(parts, HYBRID, True)) == (thought, FOUR)
        assert divided(await ask(parts, HYBRID, "off")) == ("", HELLO)
        assert divided(await ask(parts, BEGUN, None)) == (thought, FOUR)
        assert divided(await ask(parts, BEGUN, False)) == ("", PLAINLY)
        assert divided(await ask(parts, TAUGHT, None)) == ("", HELLO)
        assert divided(await ask(parts, TAUGHT, "first")) == (THOUGHT, ANSWER)


@pytest.mark.engine
@needs_engine
async def test_tools_schemas_and_answers_without_thinking_of_a_template_that_opens_it(
    tmp_path: Path,
) -> None:
    call = f"\n{THOUGHT}\n{END_THINK}\n\n{SCRIPTS['<|say:tool|>']}"
    write_scripted(tmp_path / "qwq-tool.gguf", ASKED, after={THINK: call})
    write_scripted(tmp_path / "qwq-plain.gguf", ALWAYS, after={THINK: PLAINLY})
    tool = ScriptedTool("get_weather", parameters=WEATHER.parameters)
    async with chats(tmp_path) as parts:
        plain = ChatClient(parts, Conversation(model="embedded://qwq-plain"))
        await end_of(plain.chat("2+2?"))
        await end_of(plain.retry())
        assert [message.role for message in plain.conversation.messages] == ["user", "assistant"]
        assert divided(plain.conversation.messages[-1]) == ("", PLAINLY)
        await end_of(plain.chat("A colour?", ChatOptions(schema=COLOUR)))
        answer = plain.conversation.messages[-1]
        assert (answer.metadata or {})["schema"] == "valid"
        assert (json.loads(answer.text)["n"], divided(answer)[0]) == (1, "")
        conversation = Conversation(model="embedded://qwq-tool", tools=("get_weather",))
        client = ChatClient(replace(parts, tools=runner_for(tool)), conversation)
        end = await end_of(client.chat("Weather?", ChatOptions(max_turns=1)))
        assert isinstance(end, Finish)
        assert end.reason == "max_turns"
        assert isinstance(await end_of(client.go_on()), Finish)
    assert tool.calls == [{"city": "Paris"}]
    _question, asked, _result, answered = conversation.messages
    assert divided(asked) == (THOUGHT, "")
    assert divided(answered) == ("", AFTER_TOOL)


async def end_of(answering: AbstractAsyncContextManager[AsyncIterator[ChatEvent]]) -> ChatEvent:
    async with answering as events:
        return [event async for event in events][-1]


def test_a_path_that_a_server_reports_is_not_read_and_a_service_knows_its_models_itself(
    folder: Path,
) -> None:
    find = find_thinking(KnownModels(), ("cloud",))
    info = ModelInfo(name="taught", details={"path": str(folder / "taught.gguf")})
    own = find(ModelRef("embedded", "taught"), info)
    assert own is not None
    assert (own.is_declared_by_user, own.thinks_by_itself, own.visible) == (True, False, False)
    assert find(ModelRef("vllm", "taught"), info) is None
    family = find(ModelRef("vllm", "qwen3:8b"), None)
    assert family is not None
    assert (family.is_declared_by_user, family.thinks_by_itself) == (False, True)
    assert find(ModelRef("cloud", "qwen3:8b"), None) is None


async def test_instructions_that_are_a_template_have_the_words_of_the_family(
    tmp_path: Path,
) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    paths.families_dir.mkdir(parents=True)
    own = """
_id: Zebra
modelPattern: {'@': 'tiny*'}
supports: [{thinkMode: [first, deep, off]}]
prompt: {persona: 'a {{ calm }} zebra'}
shouldThink:
  mode: first
  defaultThinkPrompt:
    templateFormat: jinja2
    prompt:
      firstThinkPrompt: 'You are {{ persona }}.{% if steps %} Count.{% endif %}'
      deepThinkPrompt: 'You are {{ person }}.'
"""
    (paths.families_dir / "zebra.yaml").write_text(own, "utf-8")
    async with serve(OllamaServer()) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            await end_of(client.chat("hi"))
            client.conversation.should_think = ThinkingConfig(mode="deep")
            refused = await end_of(client.chat("hi"))
    (first, *_) = [one.json() for one in server.received if one.path == "/api/chat"]
    assert "You are a {{ calm }} zebra." in str(first)
    assert isinstance(refused, ErrorEvent)
    assert "are a template that was refused: it fails: 'person' is undefined" in str(refused.error)
