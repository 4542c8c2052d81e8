"""The exact prompt: what the engine tells, what the template gives, and how it is divided."""

from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from ollm_tui.chat.conversation import SystemTemplate
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import PromptToken, Request
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.exact_prompt import PromptPart, parts_of, with_tokens
from ollm_tui.templates.go_template import fields_of
from tests.support.engine import needs_engine
from tests.support.fake_backends import FakeKobold
from tests.support.fake_ollama import Json, OllamaServer
from tests.support.fake_vllm import FakeVllm
from tests.support.http_server import Received, Reply, serve
from tests.support.tiny_gguf import write_scripted

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


class Old(OllamaServer):
    """A server that tells no prompt, with a model whose template is jinja."""

    template = TEMPLATE
    system = ""

    async def answer(self, request: Received, reply: Reply) -> object:
        if request.path == "/api/version":
            return {"version": "0.6.0"}
        return await super().answer(request, reply)

    async def show(self, name: str, _body: Json, _reply: Reply) -> object:
        shown = {"template": self.template, "system": self.system}
        return {**shown, "capabilities": self.models[name]}


def paths_in(folder: Path) -> AppPaths:
    return AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))


async def test_the_engine_tells_the_prompt_of_the_last_answer_or_of_the_next(
    tmp_path: Path,
) -> None:
    async with serve(OllamaServer()) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths_in(tmp_path))
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            empty = await runtime.exact_prompt(client.conversation)
            client.conversation.system_prompt = "Be brief."
            async with client.chat("hello") as events:
                assert [event async for event in events]
            last = await runtime.exact_prompt(client.conversation)
            following = await runtime.exact_prompt(client.conversation, "and now?")
    assert empty.notes[-1] == "The chat has no question yet; a blank stands for it."
    assert empty.notes[-1] not in (*last.notes, *following.notes)
    assert last.origin == "engine"
    assert last.text == "<system>Be brief.\n<user>hello\n<assistant>"
    assert [part.role for part in last.parts] == [
        "template", "system", "template", "user", "template",
    ]  # fmt: skip
    assert last.notes[0] == "This is the text that Ollama makes of the chat."
    assert following.text.endswith("<user>and now?\n<assistant>")
    assert "assistant" in [part.role for part in following.parts]


async def test_a_system_prompt_that_is_a_template_is_shown_and_sent_as_it_is_rendered(
    tmp_path: Path,
) -> None:
    paths = paths_in(tmp_path)
    paths.config_file.parent.mkdir(parents=True)
    comment = "no words of the prompt " * 50
    text = f'system_prompt = "Count to {{{{ 6 * 7 }}}}.{{# {comment} #}}"\n'
    text += 'system_prompt_format = "jinja2"\n'
    paths.config_file.write_text(text, "utf-8")
    async with serve(OllamaServer()) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            async with client.chat("{{ 1 + 1 }}") as events:
                assert [event async for event in events]
            shown = await runtime.exact_prompt(client.conversation)
            measured = await runtime.measure(client.conversation)
            room = runtime.room(client.conversation)
            assert room is not None
            assert room.used == measured.used, "counted as it is rendered, not as it is written"
            details = await runtime.manager.show(shown.ref)
            sources = {value.name: value.source for value in details.settings}
            assert sources["system_prompt"].endswith("; a template, rendered for each prompt")
            chat_id = runtime.chat_id(client)
            assert chat_id is not None
            reopened = await runtime.open_chat(chat_id)
            assert reopened.conversation.system_prompt_format == "jinja2"
            again = await runtime.exact_prompt(reopened.conversation)
            client.conversation.system_template = SystemTemplate("{{ a }}", "hf")
            client.conversation.system_prompt = "{{ a }}"
            with pytest.raises(AIError, match="variable 'a' has no value"):
                await runtime.exact_prompt(client.conversation)
    assert shown.text == again.text == "<system>Count to 42.\n<user>{{ 1 + 1 }}\n<assistant>"
    assert measured.used > 0
    (sent,) = [one.json() for one in server.received if one.path == "/api/chat"][:1]
    assert "Count to 42." in str(sent)


@pytest.mark.engine
@needs_engine
async def test_the_system_prompt_of_a_family_is_a_part_of_the_prompt(tmp_path: Path) -> None:
    paths, models = paths_in(tmp_path), tmp_path / "models"
    for folder in (models, paths.families_dir):
        folder.mkdir(parents=True)
    write_scripted(models / "tuned.gguf", base_model="Zebra 1B")
    settings = f'[embedded]\nserver = "none"\nthreads = 1\nmodel_folders = ["{models}"]\n'
    paths.config_file.write_text(settings)
    zebra = "_id: Zebra\nmodelPattern: {'@': 'zebra*'}\nsystemPrompt: Be striped."
    (paths.families_dir / "zebra.yaml").write_text(zebra)
    async with load_runtime(Flags(), {}, paths)() as runtime:
        client = runtime.new_client("built-in://tuned")
        prompt = await runtime.exact_prompt(client.conversation, "hello")
        details = await runtime.manager.show(prompt.ref)
        client.conversation.system_prompt = "Be plain."
        chosen = await runtime.exact_prompt(client.conversation, "hello")
    assert details.known is not None
    assert details.known.family == "Zebra"
    said = [(part.role, part.text) for part in prompt.parts if part.role != "template"]
    assert said == [("system", "Be striped."), ("user", "hello")]
    assert prompt.notes[1] == "The model's template, rendered here, gives the same."
    assert "Be striped." not in chosen.text


BLANK = "<think>\n\n</think>\n\n"
SWITCHES = {
    r'prompt: {blankThink: "<think>\n\n</think>\n\n"}': ("user: hello", f"assistant: {BLANK}"),
    "shouldThink: {mode: deep, switch: {offText: /no_think}}": ("user: hello /no_think",),
    "shouldThink: {mode: deep, switch: {offText: /no_think, textIn: system}}": (
        "system: /no_think",
        "user: hello",
    ),
}
"""What a family says of its switch, and the messages that are sent to switch it off."""


@pytest.mark.parametrize("backend", ["kobold", "vllm"])
@pytest.mark.parametrize("family", SWITCHES)
async def test_what_switches_thinking_in_the_prompt_is_shown_as_it_is_sent(
    tmp_path: Path, backend: str, family: str
) -> None:
    paths, expected = paths_in(tmp_path), SWITCHES[family]
    paths.families_dir.mkdir(parents=True)
    (paths.families_dir / "tiny.yaml").write_text(
        f"_id: Tiny\nmodelPattern: {{'@': 'tiny*'}}\nsupports: [thinkMode: [deep, off]]\n{family}"
    )
    fake = FakeKobold() if backend == "kobold" else FakeVllm(tokenizes=False)
    async with serve(fake) as server:
        paths.config_file.write_text(
            f'[providers.here]\nkind = "openai-compatible"\nbackend = "{backend}"\n'
            f'base_url = "{server.url}"\n'
        )
        async with load_runtime(Flags(), {}, paths)() as runtime:
            client = runtime.new_client("here://tiny", saved=False)
            client.conversation.should_think = False
            prompt = await runtime.exact_prompt(client.conversation, "hello")
            async with client.chat("hello") as events:
                assert [event async for event in events]
        bodies: list[dict[str, Any]]
        bodies = [dict(one.json()) for one in server.received if one.path.endswith("/completions")]
    assert tuple(f"{part.role}: {part.text}" for part in prompt.parts) == expected
    (body,) = bodies
    messages = [f"{one['role']}: {one['content']}" for one in body["messages"]]
    assert tuple(messages) == expected
    continued = {
        "kobold": {"continue_assistant_turn": True},
        "vllm": {"continue_final_message": True, "add_generation_prompt": False},
    }[backend]
    wanted = continued if "blank" in family else {}
    assert {key: body[key] for key in continued if key in body} == wanted


async def test_a_pool_shows_the_words_that_its_members_send(tmp_path: Path) -> None:
    paths = paths_in(tmp_path)
    paths.families_dir.mkdir(parents=True)
    words = "shouldThink: {mode: deep, switch: {offText: /no_think}}"
    (paths.families_dir / "tiny.yaml").write_text(
        f"_id: Tiny\nmodelPattern: {{'@': 'tiny*'}}\nsupports: [thinkMode: [deep, off]]\n{words}"
    )
    async with serve(FakeKobold()) as one, serve(FakeKobold()) as other:
        paths.config_file.write_text(
            '[providers.team]\nkind = "openai-compatible"\nbackend = "kobold"\n'
            f'base_urls = ["{one.url}", "{other.url}"]\n'
        )
        async with load_runtime(Flags(), {}, paths)() as runtime:
            client = runtime.new_client("team://tiny", saved=False)
            client.conversation.should_think = False
            prompt = await runtime.exact_prompt(client.conversation, "hello")
    assert [part.text for part in prompt.parts] == ["hello /no_think"]


async def test_without_the_engines_word_the_template_is_rendered_here(tmp_path: Path) -> None:
    fake = Old()
    async with serve(fake) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths_in(tmp_path))
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            prompt = await runtime.exact_prompt(client.conversation, "hello")
            details = await runtime.manager.show(prompt.ref)
            fake.system = "Be tiny."  # in the model file: Ollama uses it for chats without one
            own = await runtime.exact_prompt(client.conversation, "hello")
            client.conversation.system_prompt = "Be brief."
            chosen = await runtime.exact_prompt(client.conversation, "hello")
    assert own.text.startswith("<|system|>\nBe tiny.<|end|>")
    assert [part.role for part in own.parts if part.role != "template"] == ["system", "user"]
    assert "Be tiny." not in chosen.text
    assert prompt.origin == "template"
    assert prompt.text == "<|user|>\nhello<|end|>\n<|assistant|>\n"
    assert prompt.tokens is None
    assert "does from version 0.12 on" in prompt.notes[0]
    assert details.template_facts is not None
    assert dict(details.template_facts.abilities)["tools"] is False
    assert details.template_facts.differs == (("tools", True),)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ .Prompt }}", "which only Ollama renders"),
        ("{% if %}", "was refused: it is not a valid template"),
        ("", "does not tell the model's template"),
    ],
)
async def test_without_either_the_messages_are_shown_with_the_reason(
    tmp_path: Path, template: str, reason: str
) -> None:
    old = Old()
    old.template = template
    async with serve(old) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths_in(tmp_path))
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            client.conversation.system_prompt = "Be brief."
            prompt = await runtime.exact_prompt(client.conversation, "hello")
    assert prompt.origin == "messages"
    assert [(part.role, part.text) for part in prompt.parts] == [
        ("system", "Be brief."),
        ("user", "hello"),
    ]
    assert reason in prompt.notes[1]


async def test_prompt_and_details_read_templates_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def reading(template: str) -> frozenset[str]:
        threads.append(get_ident())
        return fields_of(template)

    monkeypatch.setattr("ollm_tui.templates.abilities.fields_of", reading)
    old = Old()
    old.template = "{{ .Prompt }}"
    async with serve(old) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths_in(tmp_path))
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            prompt = await runtime.exact_prompt(client.conversation, "hello")
            read_for_the_prompt = len(threads)
            await runtime.manager.show(prompt.ref)
    assert 0 < read_for_the_prompt < len(threads)
    assert get_ident() not in threads


async def test_a_chat_without_a_model_has_no_prompt(tmp_path: Path) -> None:
    async with load_runtime(Flags(), {}, paths_in(tmp_path))() as runtime:
        with pytest.raises(AIError, match=r"^No model is selected\."):
            await runtime.exact_prompt(runtime.new_client().conversation)


CHAT = Request(
    model="m",
    system_prompt="Be brief.",
    messages=[Message("user", " hi "), Message("assistant", "hi"), Message("user", "gone")],
)


def test_a_prompt_is_divided_by_the_texts_in_their_order() -> None:
    parts = [*parts_of("<s>Be brief.<u>hi<a>hi</s>", CHAT)]
    assert [(part.role, part.text) for part in parts] == [
        ("template", "<s>"),
        ("system", "Be brief."),
        ("template", "<u>"),
        ("user", "hi"),
        ("template", "<a>"),
        ("assistant", "hi"),
        ("template", "</s>"),
    ]
    assert [*parts_of("", CHAT)] == []


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("user", "<user>\n|user|<end>"),
        ("hi", "<tools>which<user>\n|hi|<end><think>\n"),
        ("hi", "Q|hi|A"),
        ("a", "a" * 500 + "|a|"),
        ("gone", "<user>"),
    ],
)
def test_a_short_question_is_not_found_in_what_the_template_adds(question: str, text: str) -> None:
    before, _, rest = text.partition("|")
    parts = parts_of(
        text.replace("|", ""), Request(model="m", messages=[Message("user", question)])
    )
    own = [part for part in parts if part.role == "user"]
    assert [part.text for part in own] == [question] * bool(rest)
    assert not own or parts[0].text == before


def test_tokens_are_counted_where_they_begin() -> None:
    parts = (PromptPart("template", "<u>"), PromptPart("user", "hi there"))
    written = ["<bos>", "<u>", "hi", " the", "re"]
    tokens = [PromptToken(number, text) for number, text in enumerate(written)]
    assert [part.tokens for part in with_tokens(parts, tokens)] == [1, 3]
    others = [PromptToken(1, "Ġhi")]
    assert [part.tokens for part in with_tokens(parts, others)] == [None, None]
