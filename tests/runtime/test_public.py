"""The runtime as programs see it: questions, tools, providers, and plugins that are installed."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio
import pytest

from ollm_tui import (
    AbortSignal,
    AIError,
    Approval,
    BaseProvider,
    ChatOptions,
    ErrorCode,
    ErrorEvent,
    Finish,
    Message,
    ModelInfo,
    ProviderStream,
    Request,
    Response,
    Runtime,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallResult,
    open_runtime,
    provider_events,
    tool,
)
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Server, in_thread
from tests.support.plugins import BROKEN, BROKEN_GROUPS, GOOD, GOOD_GROUPS, installed

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue

CALL = ToolCall(id="1", name="spell", args={"word": "Wien"})


@tool(effect="read")
def spell(word: str) -> str:
    """Spell a word."""
    return "-".join(word)


@tool(effect="write")
def spoil(word: str) -> str:
    """Spoil a word."""
    raise AssertionError("nobody allowed it")


class Calling(BaseProvider):
    """Calls the first tool on offer, then repeats what it gave."""

    def __init__(self, name: str = "calling") -> None:
        super().__init__(name)
        self.offered: list[tuple[str, ...]] = []
        self.life: list[str] = []

    async def stream(self, request: Request) -> AsyncIterator[str | provider_events.ProviderEvent]:
        self.offered.append(tuple(one.name for one in request.offered_tools))
        newest = request.conversation[-1]
        if newest.role == "tool" or not request.offered_tools:
            yield newest.text
            return
        name = request.offered_tools[0].name
        yield provider_events.ToolCallEvent(ToolCall(id="1", name=name, args={"word": "Wien"}))

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(name="m")]

    async def initialize(self) -> None:
        self.life.append("initialize")

    async def dispose(self) -> None:
        self.life.append("dispose")


class Allow:
    """Allows every call and remembers them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        self.asked.append(call.name)
        return Approval(allowed=True)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with in_thread(fake_ollama) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def write_settings(text: str) -> None:
    folder = Path.home() / ".config" / "ollm"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text, "utf-8")


async def results_of(runtime: Runtime, prompt: str = "Spell Wien.") -> list[str]:
    async with runtime.chat(prompt, model="calling://m") as events:
        return [event.result.content async for event in events if isinstance(event, ToolCallResult)]


async def test_a_profile_sets_what_is_asked(ollama: Server) -> None:
    write_settings(
        '[profiles.short]\nmodel = "thinker"\nsystem_prompt = "Be brief."\n'
        'tools = ["current_time"]\n[profiles.short.options]\nseed = 7\n'
    )
    async with open_runtime(profile="short") as runtime:
        assert (await runtime.ask("hello")).metadata == {"model": "ollama://thinker:latest"}
        chat = await runtime.start_chat()
        assert chat.conversation.tools == (), "without an approver"
    body = ollama.received[-1].json()
    assert body["options"] == {"seed": 7}
    assert isinstance(messages := body["messages"], list)
    assert messages[0] == {"role": "system", "content": "Be brief."}
    with pytest.raises(AIError, match="`profile` names an unknown profile") as caught:
        async with open_runtime(profile="shrt"):
            pass
    assert caught.value.hint == "Did you mean `short`?"


async def test_a_profile_whose_schema_cannot_be_used_is_refused(ollama: Server) -> None:
    write_settings('[profiles.strict]\nschema = "answer.json"\n')
    file = Path.home() / ".config" / "ollm" / "answer.json"
    for text in ('{"type": "obj"}', "{"):
        file.write_text(text, "utf-8")
        with pytest.raises(AIError, match=r"answer\.json (cannot be used|is not JSON)") as caught:
            async with open_runtime(profile="strict"):
                pass
        assert caught.value.hint == "Correct the file, or change `schema` of the profile strict."
    file.write_text('{"type": "string"}', "utf-8")
    async with open_runtime(profile="STRICT") as runtime:
        assert runtime.problems == ()


async def test_a_question_is_answered_by_the_model_that_is_there(ollama: Server) -> None:
    async with open_runtime() as runtime:
        response = await runtime.ask("hello")
        assert (response.text, response.finish_reason) == ("Hello, world!", "stop")
        assert response.metadata == {"model": "ollama://tiny:latest"}
        assert response.usage is not None
        assert [*await runtime.models()] == ["ollama://tiny:latest", "ollama://thinker:latest"]
        assert runtime.problems == ()
    assert not [*Path.home().rglob("*.db")], "chats of a program are not saved"


async def test_a_message_that_is_a_template_is_rendered_with_the_words_of_the_family(
    ollama: Server,
) -> None:
    words = Path.home() / ".config" / "ollm" / "families"
    words.mkdir(parents=True)
    (words / "tiny.yaml").write_text(
        "_id: Tiny\nmodelPattern: {'@': 'tiny*'}\nprompt: {tone: stern, name: nobody}"
    )
    text = "Be {{ tone }}, {{ name }} of {{ strftime_now('%Y') | length }}."
    message = Message(
        "user", text, template_format="jinja2", metadata={"template_values": {"name": "{{ Ann }}"}}
    )
    async with open_runtime(model="ollama://tiny") as runtime:
        await runtime.ask(message)
        request = Request(model="ollama://tiny", messages=[message], stream=False)
        await runtime.router.invoke(request)
        streamed = await runtime.router.invoke(
            Request(model="ollama://tiny", messages=[message], template_values={"tone": "kind"})
        )
        assert not isinstance(streamed, Response)
        async with streamed as events:
            assert [event async for event in events]
        with pytest.raises(AIError, match="variable 'nothing' has no value"):
            await runtime.ask(Message("user", "{{ nothing }}", template_format="jinja2"))
        adapter = runtime.providers.resolve("ollama")
        assert adapter is not None
        with pytest.raises(AIError, match="a chat and the router do"):
            await adapter.invoke(request)
    chats = [one.json() for one in ollama.received if one.path == "/api/chat"]
    said = [str(body["messages"]) for body in chats]
    assert ["{{ Ann }} of 4." in one for one in said] == [True] * 3
    assert ["Be stern" in one for one in said] == [True, True, False]


async def test_an_answer_to_a_schema_has_its_value_or_raises(ollama: Server) -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(Calling())
        is_text = ChatOptions(schema={"type": "string"}, tools=())
        response = await runtime.ask('"hello"', is_text, model="calling://m")
        assert (response.value, response.text) == ("hello", '"hello"')
        with pytest.raises(AIError, match="does not match the JSON Schema") as raised:
            await runtime.ask("12", is_text, model="calling://m")
        assert raised.value.code == ErrorCode.SCHEMA_MISMATCH


async def test_an_answer_that_fails_raises_and_a_stopped_one_says_so(ollama: Server) -> None:
    async with open_runtime(model="ollama://tiny") as runtime:
        with pytest.raises(AIError, match="the engine died"):
            await runtime.ask("fail")
        with pytest.raises(AIError, match="no provider named 'nowhere'") as raised:
            await runtime.ask("hello", ChatOptions(model="nowhere://m"))
        assert raised.value.code == ErrorCode.BAD_REQUEST
        signal = AbortSignal()
        seen = []
        with anyio.fail_after(10):
            async with runtime.chat("forever", signal=signal) as events:
                async for event in events:
                    seen.append(event)
                    signal.abort()
        assert isinstance(seen[0], TextDelta)
        assert isinstance(seen[-1], Finish)
        assert seen[-1].reason == "abort"


async def test_leaving_a_chat_early_ends_the_request(ollama: Server) -> None:
    async with open_runtime(model="ollama://tiny") as runtime:
        with anyio.fail_after(10):
            async with runtime.chat("forever") as events:
                async for _event in events:
                    break
            await ollama.settled()
    assert len(ollama.disconnects) == 1


async def test_a_tool_that_reads_runs_and_is_offered_from_then_on() -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(provider := Calling())
        before = await runtime.start_chat("calling://m")
        runtime.add_tool(spell)
        assert await results_of(runtime) == ["W-i-e-n"]
        assert (await runtime.ask("Spell Wien.", model="calling://m")).text == "W-i-e-n"
        assert before.conversation.tools == ()
        none = await runtime.start_chat("calling://m", tools=())
        assert none.conversation.tools == ()
        response = await runtime.ask("Hi", ChatOptions(tools=()), model="calling://m")
        assert response.text == "Hi"
    assert provider.offered[0] == ("spell",)
    assert provider.offered[-1] == ()


async def test_a_tool_that_acts_needs_an_approval() -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(Calling())
        runtime.add_tool(spoil)
        (refused,) = await results_of(runtime)
    assert "spoil could change files, and only tools that read are allowed here" in refused
    allow = Allow()
    async with open_runtime(approver=allow) as runtime:
        runtime.add_provider(Calling())

        async def write(word: str) -> str:
            """Write a word."""
            return f"wrote {word}"

        runtime.add_tool(write, effect="write")
        assert await results_of(runtime) == ["wrote Wien"]
    assert allow.asked == ["write"]


async def test_what_is_no_tool_is_refused_at_once() -> None:
    async with open_runtime() as runtime:
        runtime.add_tool(spell)
        with pytest.raises(ValueError, match="there is a tool named spell"):
            runtime.add_tool(spell)
        with pytest.raises(TypeError, match="needs an effect"):
            runtime.add_tool(spell.function)
        with pytest.raises(TypeError, match="a name has 1 to 64 letters"):
            runtime.add_tool(lambda: "", effect="read")


async def test_a_provider_lives_as_long_as_the_runtime() -> None:
    used, unused = Calling("used"), Calling("unused")
    async with open_runtime() as runtime:
        runtime.add_provider(used)
        runtime.add_provider(unused)
        assert runtime.providers.get("used") is used
        assert (used.life, unused.life) == ([], [])
        for _ in range(2):
            await runtime.ask("Hi", model="used://m")
        assert (await runtime.router.resolve("used://m")).provider is used
        with pytest.raises(AIError, match="a provider named 'used' already") as raised:
            runtime.add_provider(Calling("used"))
        assert raised.value.code == ErrorCode.CONFLICT
        with pytest.raises(AIError, match="a provider named 'ollama' already"):
            runtime.add_provider(Calling("ollama"))
    assert (used.life, unused.life) == (["initialize", "dispose"], ["dispose"])


async def test_nothing_to_chat_with_is_reported() -> None:
    async with open_runtime() as runtime:
        with pytest.raises(AIError, match=r"No models found\.") as raised:
            await runtime.ask("Hi")
    assert raised.value.code == ErrorCode.MODEL_NOT_FOUND


async def test_another_host_and_file_are_taken_as_on_the_command_line(tmp_path: Path) -> None:
    with in_thread(fake_ollama) as server:
        async with open_runtime(host=server.url, model="tiny") as runtime:
            assert (await runtime.ask("hello")).text == "Hello, world!"
        file = tmp_path / "own.toml"
        file.write_text(
            f'system_prompt = "Be brief."\n[providers.local]\nbase_url = "{server.url}"'
        )
        async with open_runtime(config_file=file) as runtime:
            client = await runtime.start_chat("tiny")
            assert client.conversation.system_prompt == "Be brief."


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, tmp_path / "site", "ollm-good", GOOD, GOOD_GROUPS)
    installed(monkeypatch, tmp_path / "site", "ollm-broken", BROKEN, BROKEN_GROUPS)
    for name in ("ollm_good", "ollm_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)


async def test_a_plugin_brings_a_provider_and_its_tool_is_off(plugins: None) -> None:
    write_settings(
        '[providers.mine]\nkind = "echo"\n[providers.bad]\nkind = "broken"\n'
        '[providers.calling]\nenabled = false\nbase_url = "http://127.0.0.1:9"\n'
    )
    async with open_runtime() as runtime:
        assert (await runtime.ask("Good morning", model="mine://x")).text == "Good morning"
        client = await runtime.start_chat("mine://x")
        assert client.conversation.tools == ()
        with pytest.raises(AIError, match=r"could not be loaded \(RuntimeError\)\."):
            await runtime.ask("Hi", model="bad://x")
        (problem,) = runtime.problems
        assert problem.startswith("The plugin ollm-broken 1.0 could not be loaded")
        runtime.add_provider(provider := Calling())
        await runtime.ask("Hi", model="calling://m")
        assert provider.offered == [()]
    assert sys.modules["ollm_good"].ended == ["mine"]


async def test_a_tool_of_a_plugin_runs_once_it_is_switched_on(plugins: None) -> None:
    write_settings('[tools]\nenabled = ["shout"]\n')
    async with open_runtime(approver=Allow()) as runtime:
        runtime.add_provider(provider := Calling())
        (tool_result,) = await results_of(runtime)
        assert "text" in tool_result, "the arguments of the test do not fit its schema"
    assert provider.offered[0] == ("shout",)


@pytest.fixture
def secret_plan(tmp_path: Path) -> Path:
    """Settings that switch on a tool which reads files, for the app."""
    (tmp_path / "Wien").write_text("the secret plan")
    write_settings(f'[tools]\nenabled = ["read_file"]\nroot = "{tmp_path}"\n')
    return tmp_path


async def test_tools_that_only_the_settings_switch_on_need_an_approver(
    secret_plan: Path,
) -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(provider := Calling())
        assert (await runtime.ask("Hi", model="calling://m")).text == "Hi"
        runtime.add_tool(spell)
        assert await results_of(runtime) == ["W-i-e-n"]
        named = await runtime.start_chat("calling://m", tools=["read_file"])
        assert named.conversation.tools == ("read_file",)
        await runtime.ask("Hi", ChatOptions(tools=["read_file"]), model="calling://m")
    assert provider.offered[:2] == [(), ("spell",)]
    assert provider.offered[-1] == ("read_file",)
    async with open_runtime(approver=Allow()) as runtime:
        runtime.add_tool(spell)
        asked = await runtime.start_chat("calling://m")
        assert asked.conversation.tools == ("read_file", "spell")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"provider": "wrok"}, "^`provider` names an unknown provider"),
        ({"config_file": "/nonexistent/x.toml"}, "^`config_file`: There is no file"),
        ({"host": "http://[bad"}, "^`host`: The brackets of the IPv6 address do not match"),
        ({"model": " "}, "^The name of the model is empty"),
        ({"model": "vllm://m", "provider": "local"}, "^`model` names a model of `vllm`"),
    ],
)
async def test_an_argument_that_cannot_be_used_opens_nothing(
    ollama: Server, arguments: dict[str, str], words: str
) -> None:
    with pytest.raises(AIError, match=words) as raised:
        async with open_runtime(**arguments):  # type: ignore[arg-type]
            raise AssertionError("another model would answer")
    assert raised.value.code == ErrorCode.BAD_REQUEST


async def test_a_file_that_is_named_and_no_settings_opens_nothing(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[broken\n")
    with pytest.raises(AIError, match=r"^`config_file`: The file is not valid TOML") as raised:
        async with open_runtime(config_file=file):
            raise AssertionError
    assert raised.value.code == ErrorCode.BAD_REQUEST


async def test_a_request_that_contradicts_itself_is_refused() -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(Calling())
        other, unknown = ChatOptions(model="calling://other"), ChatOptions(tools=["nothing"])
        for ask, words in (
            (runtime.ask("Hi", model=""), "name of the model is empty"),
            (runtime.ask("Hi", ChatOptions(model="")), "name of the model is empty"),
            (runtime.start_chat(""), "name of the model is empty"),
            (runtime.ask("Hi", other, model="calling://m"), "`options.model` names"),
            (runtime.start_chat("calling://m", tools=["nothing"]), "no tool named 'nothing'"),
            (runtime.ask("Hi", unknown, model="calling://m"), "no tool named 'nothing'"),
        ):
            with pytest.raises(AIError, match=words) as raised:
                await ask
            assert raised.value.code == ErrorCode.BAD_REQUEST
        same = await runtime.ask("Hi", ChatOptions(model="calling://m"), model="calling://m")
        assert same.text == "Hi"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Ollama", ErrorCode.CONFLICT),
        ("LOCAL", ErrorCode.CONFLICT),
        ("a/b", ErrorCode.BAD_REQUEST),
        ("", ErrorCode.BAD_REQUEST),
        ("two words", ErrorCode.BAD_REQUEST),
    ],
)
async def test_a_provider_has_a_name_that_settings_could_have(name: str, code: ErrorCode) -> None:
    async with open_runtime() as runtime:
        with pytest.raises(AIError) as raised:
            runtime.add_provider(Calling(name))
        assert raised.value.code == code


async def test_what_an_adapter_says_holds_no_key_of_the_settings() -> None:
    key = "sk-canary-0123456789abcdef"
    write_settings(f'[providers.other]\nkind = "ollama"\napi_key = "{key}"\n')

    class Telling(Calling):
        async def stream(self, request: Request) -> AsyncIterator[str]:
            details: dict[str, JsonValue] = {"said": [{"key": key}]}
            raise AIError(
                ErrorCode.AUTH_FAILED, f"No {key}.", hint=f"Is it {key}?", details=details
            )
            yield ""

        async def list_models(self) -> list[ModelInfo]:
            raise AIError(ErrorCode.AUTH_FAILED, f"No {key}.")

    async with open_runtime() as runtime:
        runtime.add_provider(Telling())
        with pytest.raises(AIError, match="No «key»") as raised:
            await runtime.ask("Hi", model="calling://m")
        assert key not in f"{raised.value} {raised.value.args} {raised.value.details}"
        listing = await runtime._composed.catalog.listing("calling")
        assert str(listing.problem) == "No «key»."


class Raw:
    """A provider without `BaseProvider`, which keeps none of the rules."""

    name, label = "raw", "Raw"
    streaming_format: Literal["none"] = "none"

    def __init__(self, raised: BaseException) -> None:
        self._raised = raised

    def chat_stream(self, request: Request) -> ProviderStream:
        return self._stream()

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[AsyncIterator[provider_events.ProviderEvent]]:
        yield self._events()

    async def _events(self) -> AsyncIterator[provider_events.ProviderEvent]:
        yield provider_events.TextDelta("Be")
        raise self._raised

    async def invoke(self, request: Request) -> Response:
        raise self._raised

    def capabilities(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize(
    "raised",
    [KeyError("x"), SystemExit(3), asyncio.CancelledError(), ExceptionGroup("", [KeyError("x")])],
)
async def test_a_provider_without_rules_ends_its_answer_and_nothing_else(
    raised: BaseException,
) -> None:
    async with open_runtime() as runtime:
        runtime.add_provider(Raw(raised))
        with anyio.fail_after(5):
            async with runtime.chat("Hi", model="raw://m") as stream:
                events = [event async for event in stream]
        assert isinstance(events[-1], ErrorEvent)
        assert events[-1].error.code == ErrorCode.INTERNAL_ERROR
        kind = "KeyError" if isinstance(raised, ExceptionGroup) else type(raised).__name__
        assert events[-1].error.message == f"Internal error ({kind})."
        assert [type(event) for event in events].count(ErrorEvent) == 1
        runtime.add_provider(Calling())
        assert (await runtime.ask("Hi", model="calling://m")).text == "Hi"
