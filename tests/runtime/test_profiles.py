"""Profiles of the settings file: read for a chat, and written from one without its secrets."""

import threading
from pathlib import Path

import pytest

from ollm_tui.chat.answer_schema import load_schema
from ollm_tui.chat.conversation import Conversation, Preset
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import THINKING_LEVELS, GenerationOptions, ThinkingConfig
from ollm_tui.runtime import chats
from ollm_tui.runtime.compose import Runtime, load_runtime

SECRET = "sk-aZ19xW73qLm0pR55"
ENVIRON = {"TEAM": "the team of Vienna", "WORK_KEY": SECRET, "SHORT_PROMPT": "Be brief."}


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / name for name in ("config", "data", "state", "cache")))


def write(paths: AppPaths, text: str) -> None:
    paths.config_dir.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text, "utf-8")


def opened(paths: AppPaths, flags: Flags | None = None):  # type: ignore[no-untyped-def]
    return load_runtime(flags or Flags(), ENVIRON, paths)()


def conversation_of(runtime: Runtime) -> Conversation:
    return runtime.new_client("local://tiny").conversation


async def test_a_new_chat_begins_with_the_profile_of_the_command_line(paths: AppPaths) -> None:
    write(
        paths,
        '[profiles.coding]\nsystem_prompt = "For ${TEAM}."\nthinking = "low"\n'
        'tools = ["current_time"]\n'
        "[profiles.coding.options]\ntemperature = 0.1\n",
    )
    async with opened(paths, Flags(profile="coding")) as runtime:
        chat = conversation_of(runtime)
        assert chat.profile == "coding"
        assert chat.system_prompt == "For the team of Vienna."
        assert chat.should_think == THINKING_LEVELS["low"]
        assert (chat.tools, chat.options) == (("current_time",), GenerationOptions(temperature=0.1))


async def test_a_profile_is_read_as_it_is_written_now(paths: AppPaths) -> None:
    write(paths, '[options]\nseed = 1\n[profiles.a]\nmodel = "x"\n')
    async with opened(paths) as runtime:
        preset = await runtime.profiles.load("A")
        assert (preset.profile, preset.model, preset.options.seed) == ("a", "x", 1)
        write(paths, '[profiles.b]\nmodel = "y"\ntools = ["current_time", "clck"]\n')
        preset = await runtime.profiles.load("b")
        assert (preset.model, preset.tools, preset.missing_tools) == (
            "y",
            ("current_time",),
            ("clck",),
        )
        assert runtime.profiles.listed() == {"b": "y · tools current_time, clck"}
        assert await runtime.profiles.load("none") == Preset()
        assert await runtime.profiles.load("None") == Preset()
        with pytest.raises(AIError, match="There is no profile 'a'") as caught:
            await runtime.profiles.load("a")
        assert caught.value.hint == "Available: b."
        write(paths, "[profiles.b]\nmodel = 5\n")
        with pytest.raises(AIError, match="must be text in quotes"):
            await runtime.profiles.load("b")


async def test_what_is_saved_comes_back(paths: AppPaths) -> None:
    write(paths, '# mine\nsystem_prompt = "${TEAM}"\n\n[ui]\nmouse = true # yes\n')
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        chat.options = GenerationOptions(
            temperature=0.5, stop=("a", 'b "c"'), keep_alive="5m", extra_body={"x": {"y": [1, "$"]}}
        )
        chat.system_prompt = 'Use ${HOME} and "quotes"\nin two lines.'
        chat.tools, chat.should_think = ("current_time",), THINKING_LEVELS["high"]
        saved = await runtime.profiles.save("Mine", chat)
        assert (saved.name, saved.left_out) == ("Mine", ())
        text = paths.config_file.read_text()
        assert text.startswith('# mine\nsystem_prompt = "${TEAM}"\n\n[ui]\nmouse = true # yes\n')
        assert 'model = "ollama://tiny"' in text
        again = Conversation(model=chat.model)
        (await runtime.profiles.load("mine")).apply_to(again)
        assert again == Conversation(
            profile="Mine",
            model=chat.model,
            options=chat.options,
            system_prompt=chat.system_prompt,
            tools=chat.tools,
            should_think=chat.should_think,
        )
    loaded = load_config(paths, ENVIRON, Flags(profile="mine"))
    assert loaded.all_problems == ()


async def test_a_system_prompt_that_is_a_template_is_saved_as_one(paths: AppPaths) -> None:
    write(paths, 'system_prompt = "{{ 6 * 7 }}"\nsystem_prompt_format = "jinja2"\n')
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        assert chat.system_prompt_format == "jinja2"
        await runtime.profiles.save("same", chat)
        assert (await runtime.profiles.load("same")).system_prompt_format == "jinja2"
        chat.system_prompt = "{{ 1 }}"
        await runtime.profiles.save("plain", chat)
        preset = await runtime.profiles.load("plain")
        assert (preset.system_prompt, preset.system_prompt_format) == ("{{ 1 }}", None)


async def test_an_empty_system_prompt_and_no_tools_are_saved_too(paths: AppPaths) -> None:
    write(paths, 'system_prompt = "Be kind."\n[tools]\nenabled = ["current_time"]\n')
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        chat.system_prompt, chat.tools = None, ()
        await runtime.profiles.save("bare", chat)
        preset = await runtime.profiles.load("bare")
        assert (preset.system_prompt, preset.tools) == (None, ())


async def test_a_profile_is_not_replaced_unasked(paths: AppPaths) -> None:
    write(paths, '[profiles.a]\n# keep me\nmodel = "x"\n')
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        with pytest.raises(AIError) as caught:
            await runtime.profiles.save("A", chat)
        assert (caught.value.code, caught.value.hint) == (
            ErrorCode.CONFLICT,
            "/save a replace replaces it.",
        )
        assert (await runtime.profiles.save("A", chat, replaces=True)).name == "a"
        assert '[profiles.a]\n# keep me\nmodel = "ollama://tiny"\n' in paths.config_file.read_text()


async def test_a_secret_is_never_written(paths: AppPaths) -> None:
    text = (
        '[options]\nextra_body = { token = "${WORK_KEY}" }\n[providers.work]\n'
        'base_url = "http://127.0.0.1:9"\napi_key = "${WORK_KEY}"\n'
    )
    write(paths, text)
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        assert chat.options.extra_body == {"token": SECRET}
        await runtime.profiles.save("a", chat)
        written = paths.config_file.read_text()
        assert SECRET not in written
        assert 'extra_body = {token = "${WORK_KEY}"}' in written
        chat.system_prompt = f"The key is {SECRET}."
        with pytest.raises(AIError, match="its system_prompt contains a key") as caught:
            await runtime.profiles.save("b", chat)
        assert SECRET not in f"{caught.value.message}{caught.value.hint}"
        assert paths.config_file.read_text() == written


async def test_what_a_profile_cannot_hold_is_named(paths: AppPaths) -> None:
    write(paths, "[options]\ntop_k = 3\n")
    async with opened(paths) as runtime:
        chat = conversation_of(runtime)
        chat.options = GenerationOptions(response_format="json")
        chat.should_think = ThinkingConfig(mode="deep")
        saved = await runtime.profiles.save("a", chat)
        assert saved.left_out == ("top_k", "response_format", "thinking")
        chat.options = GenerationOptions(num_ctx=10**12)
        with pytest.raises(AIError, match=r"cannot hold this chat's options\.num_ctx"):
            await runtime.profiles.save("b", chat)
        for name in ("none", " x", "", "a\nb", "x" * 65):
            with pytest.raises(AIError, match="not a valid profile name"):
                await runtime.profiles.save(name, chat)


async def test_the_settings_may_have_no_file_yet(paths: AppPaths) -> None:
    async with opened(paths) as runtime:
        await runtime.profiles.save("first", conversation_of(runtime))
        assert runtime.profiles.listed() == {"first": "ollama://tiny · tools off"}
    assert paths.config_file.stat().st_mode & 0o777 == 0o600


async def test_the_last_chat_continues_with_the_profile_that_is_named(paths: AppPaths) -> None:
    write(paths, '[profiles.a]\nsystem_prompt = "A"\n[profiles.b]\nmodel = "local://b"\n')
    async with opened(paths) as runtime:
        client = runtime.new_client("local://tiny")
        journal = client.saving.journal
        assert journal is not None
        client.conversation.messages.append(Message("user", "hello"))
        await journal.begin(client.conversation.messages[0])
    for flags, model, prompt in (
        (Flags(profile="a", goes_on=True), "local://tiny", "A"),
        (Flags(profile="b", goes_on=True), "local://b", None),
        (Flags(goes_on=True), "local://tiny", None),
    ):
        async with opened(paths, flags) as runtime:
            chat = runtime.new_client().conversation
            assert [message.text for message in chat.messages] == ["hello"]
            assert (chat.model, chat.system_prompt) == (model, prompt)


async def test_a_profile_has_a_schema_or_keeps_the_one_of_the_chat(paths: AppPaths) -> None:
    write(paths, '[profiles.a]\nschema = "person.json"\n[profiles.b]\ntools = []\n')
    file = paths.config_dir / "person.json"
    file.write_text('{"title": "Person"}')
    async with opened(paths, Flags(profile="a")) as runtime:
        assert runtime.problems == ()
        chat = conversation_of(runtime)
        assert (chat.schema, chat.schema_file) == ({"title": "Person"}, str(file))
        saved = await runtime.profiles.save("c", chat)
        assert saved.left_out == ()
        assert (await runtime.profiles.load("c")).schema == {"title": "Person"}
        (await runtime.profiles.load("b")).apply_to(chat)
        assert chat.schema == {"title": "Person"}
        chat.schema = {"title": "Other"}
        (await runtime.profiles.load("b")).apply_to(chat)
        assert chat.schema == {"title": "Other"}
        assert (await runtime.profiles.save("d", chat)).left_out == ("schema",)
        (await runtime.profiles.load("a")).apply_to(chat)
        assert chat.schema == {"title": "Person"}


async def test_the_schema_of_a_profile_is_read_in_a_thread_and_once_for_each_choice(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(paths, '[profiles.a]\nschema = "person.json"\n')
    (paths.config_dir / "person.json").write_text('{"title": "Person"}')
    reads: list[str] = []

    def load(name: str) -> object:
        reads.append(threading.current_thread().name)
        return load_schema(name)

    monkeypatch.setattr(chats, "load_schema", load)
    async with opened(paths, Flags(profile="a")) as runtime:
        assert [conversation_of(runtime).schema for _ in range(2)] == [{"title": "Person"}] * 2
        await runtime.profiles.load("a")
    assert len(reads) == 2
    assert threading.main_thread().name not in reads


async def test_a_profile_whose_schema_cannot_be_used_is_refused(paths: AppPaths) -> None:
    write(paths, '[profiles.a]\nschema = "person.json"\n')
    (paths.config_dir / "person.json").write_text("[")
    async with opened(paths, Flags(profile="a")) as runtime:
        assert ["person.json is not JSON" in one for one in runtime.problems] == [True]
        assert conversation_of(runtime).schema is None
        with pytest.raises(AIError, match="is not JSON") as refused:
            await runtime.profiles.check()
        assert refused.value.hint == "Correct the file, or change `schema` of the profile a."
        with pytest.raises(AIError, match="is not JSON"):
            await runtime.profiles.load("a")


async def test_a_saved_chat_keeps_its_profile(paths: AppPaths) -> None:
    write(paths, "[profiles.a]\ntools = []\n")
    async with opened(paths, Flags(profile="a")) as runtime:
        client = runtime.new_client("local://tiny")
        journal = client.saving.journal
        assert journal is not None
        client.conversation.messages.append(Message("user", "hello"))
        await journal.begin(client.conversation.messages[0])
    async with opened(paths, Flags(goes_on=True)) as runtime:
        assert runtime.new_client().conversation.profile == "a"


async def test_what_is_listed_is_clean(paths: AppPaths) -> None:
    write(
        paths,
        '[profiles."a\\u001b[31m"]\ntools = []\n[profiles.b]\nmodel = "x\\u001b[31m\\ny\\u202e"\n',
    )
    async with opened(paths) as runtime:
        (line,) = runtime.profiles.listed().values()
        assert line.startswith("x")
        assert line.isprintable()
