"""Whoever was named is asked, or the prompt fails: no other model answers in its place."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.named import named_by
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.chat_events import ErrorEvent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.compose import Runtime, load_runtime
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Server, serve
from tests.support.providers import ScriptedProvider

DEAD_ADDRESS = "http://127.0.0.1:9"
AS_OLLAMA_READS_IT = frozenset(
    {
        "has a port too high",
        "has no number as its port",
        "is a port alone",
        "is a colon alone",
        "is a scheme alone",
    }
)
"""What Ollama takes for the usual port, or for the machine itself, in its own variable."""
UNKNOWN = "http://no-such-host.invalid"


@dataclass(frozen=True)
class Way:
    """One way of naming something that cannot be asked."""

    says: str
    flags: Flags = field(default_factory=Flags)
    environ: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def _ways() -> dict[str, Way]:
    ways = {}
    for about, address, says in (
        ("is dead", DEAD_ADDRESS, "does not answer"),
        ("cannot be resolved", UNKNOWN, "no-such-host.invalid"),
        ("is no address", "foo bar", "cannot have spaces"),
        ("has a wrong scheme", "ftp://x", "http://"),
        ("has a port too high", "127.0.0.1:99999", "A port is a number"),
        ("has no number as its port", "127.0.0.1:abc", "A port is a number"),
        ("is a port alone", "8080", "colon in front"),
        ("is a colon alone", ":", "names no server"),
        ("is a scheme alone", "http://", "names no server"),
    ):
        ways[f"--host {about}"] = Way(says, Flags(host=address))
        ways[f"--host beside a bare --model {about}"] = Way(says, Flags(host=address, model="tiny"))
        ways[f"--host of a named provider {about}"] = Way(
            says, Flags(host=address, provider="vllm")
        )
        for variable in ("OLLAMA_HOST", "VLLM_HOST", "OLLM_PROVIDERS__VLLM__BASE_URL"):
            if variable == "OLLAMA_HOST" and about in AS_OLLAMA_READS_IT:
                continue
            ways[f"{variable} {about}"] = Way(says, environ={variable: address})
        with_key = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k"}
        ways[f"OPENAI_BASE_URL {about}"] = Way(says, environ=with_key)
        ways[f"OPENAI_BASE_URL beside a bare --model {about}"] = Way(
            says, Flags(model="tiny"), environ=with_key
        )
        table = f'[providers.named]\nbase_url = "{address}"\n'
        ways[f"--provider in the settings {about}"] = Way(says, Flags(provider="named"), text=table)
        ways[f"provider = in the settings {about}"] = Way(says, text=f'provider = "named"\n{table}')
    closed = '[providers.named]\nbase_url = "http://127.0.0.1:9"\napi_key = "${NO_SUCH_KEY}"\n'
    off = '[providers.named]\nbase_url = "http://127.0.0.1:9"\nenabled = false\n'
    return ways | {
        "--host is empty": Way("--host is empty", Flags(host="")),
        "--host is blank": Way("--host is empty", Flags(host="  ")),
        "--model is empty": Way("--model is empty", Flags(model="")),
        "--provider is empty": Way("--provider is empty", Flags(provider="")),
        "--host means nothing there": Way("does not apply", Flags(host="x", provider="embedded")),
        "--provider is unknown": Way("unknown provider", Flags(provider="gone")),
        "OLLM_PROVIDER is unknown": Way("unknown provider", environ={"OLLM_PROVIDER": "gone"}),
        "provider = is unknown": Way("unknown provider", text='provider = "gone"\n'),
        "--provider is off": Way("named", Flags(provider="named"), text=off),
        "--provider is a preset nobody runs": Way("does not answer", Flags(provider="kobold")),
        "--provider has no address": Way("no address", Flags(provider="openai-compatible")),
        "--provider needs a key": Way("needs a key", Flags(provider="anthropic")),
        "--provider lacks its variable": Way("NO_SUCH_KEY", Flags(provider="named"), text=closed),
        "provider = lacks its variable": Way("NO_SUCH_KEY", text=f'provider = "named"\n{closed}'),
        "model = lacks its variable": Way("NO_SUCH_KEY", text=f'model = "named://tiny"\n{closed}'),
        "--provider has no models": Way("no model", Flags(provider="embedded")),
        "--model is unknown": Way("'none'", Flags(model="none")),
        "--model of nobody": Way("gone", Flags(model="gone://tiny")),
        "OLLM_MODEL is unknown": Way("'none'", environ={"OLLM_MODEL": "none"}),
        "model = is unknown": Way("'none'", text='model = "none"\n'),
        "model = is no text": Way("model", text="model = 5\n"),
        "--model and --provider disagree": Way(
            "names", Flags(model="other://tiny", provider="embedded")
        ),
        "--model and --host disagree": Way(
            "names", Flags(model="other://tiny", provider="local", host=DEAD_ADDRESS)
        ),
        "a model of the settings behind --host": Way(
            "does not answer", Flags(host=DEAD_ADDRESS), text='model = "other://tiny"\n'
        ),
        "a bare model of the settings behind --host": Way(
            "does not answer", Flags(host=DEAD_ADDRESS), text='model = "tiny"\n'
        ),
        "a bare --model while OLLAMA_HOST is dead": Way(
            "does not answer", Flags(model="tiny"), environ={"OLLAMA_HOST": DEAD_ADDRESS}
        ),
        "one of two hosts is dead": Way(
            "does not answer", environ={"OLLAMA_HOST": DEAD_ADDRESS, "VLLM_HOST": "DECOY"}
        ),
    }


WAYS = _ways()


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))


@asynccontextmanager
async def beside_another(way: Way, paths: AppPaths) -> AsyncIterator[tuple[Runtime, Server]]:
    """Run beside a server that would answer anything."""
    async with serve(FakeOpenAI()) as decoy:
        table = f'[providers.other]\nbase_url = "{decoy.url}"\n'
        paths.config_dir.mkdir(parents=True, exist_ok=True)
        paths.config_file.write_text(way.text + table)
        environ = {k: v.replace("DECOY", decoy.url) for k, v in way.environ.items()}
        async with load_runtime(way.flags, environ, paths)() as runtime:
            yield runtime, decoy


def asked_to_chat(server: Server) -> list[str]:
    return [request.path for request in server.received if "chat" in request.path]


async def test_the_other_server_would_answer_if_none_were_named(paths: AppPaths) -> None:
    async with beside_another(Way(""), paths) as (runtime, decoy):
        assert str((await runtime.first_model()).ref) == "other://tiny"
        async with runtime.new_client("other://tiny").chat("hi") as events:
            assert [event async for event in events]
    assert asked_to_chat(decoy)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("about", WAYS)
async def test_what_was_named_and_cannot_be_asked_is_not_replaced(
    about: str, paths: AppPaths
) -> None:
    way = WAYS[about]
    async with beside_another(way, paths) as (runtime, decoy):
        try:
            first = await runtime.first_model()
        except AIError as error:
            reason = str(error)
        else:
            assert first.ref is None or first.ref.provider == "named"
            reason = str(first.problem)
        # nor by a prompt that is sent all the same, as the app lets a person do
        async with runtime.new_client().chat("hi") as events:
            end = [event async for event in events][-1]
        assert isinstance(end, ErrorEvent)
        assert way.says in reason + str(end.error)
    assert asked_to_chat(decoy) == []


@pytest.mark.parametrize(
    ("flags", "saved", "goes_on_with"),
    [
        (Flags(), "vllm://m", "vllm://m"),
        (Flags(model="local://n"), "vllm://m", "local://n"),
        (Flags(model="n", provider="local"), "vllm://m", "local://n"),
        (Flags(model="n"), "vllm://m", "n"),
        (Flags(provider="vllm"), "vllm://m", "vllm://m"),
        (Flags(provider="local"), "vllm://m", None),
        (Flags(host=DEAD_ADDRESS), "vllm://m", None),
        (Flags(host=DEAD_ADDRESS), "local://m", "local://m"),
        (Flags(host=DEAD_ADDRESS, model="n"), "vllm://m", "local://n"),
        (Flags(provider="gone"), "vllm://m", None),
    ],
)
def test_a_chat_goes_on_with_its_model_unless_the_command_line_names_another(
    flags: Flags, saved: str, goes_on_with: str | None, paths: AppPaths
) -> None:
    assert named_by(load_config(paths, {}, flags)).model_for_chat(saved) == goes_on_with


def test_the_environment_and_the_settings_do_not_change_a_chat_that_goes_on(
    paths: AppPaths,
) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text('model = "local://usual"\n')
    environ = {"OLLM_PROVIDER": "local", "VLLM_HOST": DEAD_ADDRESS}
    assert named_by(load_config(paths, environ)).model_for_chat("vllm://m") == "vllm://m"


async def test_a_model_that_was_shown_is_not_replaced_by_a_file_of_its_name(
    paths: AppPaths,
) -> None:
    """`local://` finds a file of this machine once; the chat then keeps to what was found."""
    registry = ProviderRegistry()
    ollama = ScriptedProvider("local", models=[ModelInfo(name="m")])
    registry.register(ollama)
    registry.register(ScriptedProvider("embedded", models=[ModelInfo(name="m")]))
    catalog = ModelCatalog(registry)
    router = Router(registry, catalog)
    client = ChatClient(ChatParts(router=router), Conversation(model="local://m"))
    ollama.list_error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Gone.")
    async with client.chat("hi") as events:
        assert [event async for event in events]
    assert [request.model for request in ollama.requests] == ["m"]
    placed = Router(registry, catalog, is_local_here=False)
    with pytest.raises(AIError, match="Gone"):
        await placed.resolve("local://m")


def test_a_settings_file_that_cannot_be_read_may_name_a_server(paths: AppPaths) -> None:
    paths.config_dir.mkdir(parents=True)
    paths.config_file.write_text('model = "vllm://m')
    problem = named_by(load_config(paths, {})).problem
    assert problem is not None
    assert "not valid TOML" in problem.message
    for flags in (Flags(model="m"), Flags(provider="vllm"), Flags(host=DEAD_ADDRESS)):
        assert named_by(load_config(paths, {}, flags)).problem is None
    for environ in ({"OLLAMA_HOST": DEAD_ADDRESS}, {"OLLM_MODEL": "m"}):
        assert named_by(load_config(paths, environ)).problem is None


async def test_an_address_with_one_slash_comes_with_the_right_spelling(paths: AppPaths) -> None:
    async with beside_another(Way(""), paths) as (runtime, _):
        for written in ("other/tiny", "other:tiny"):
            with pytest.raises(AIError) as caught:
                await runtime.router.resolve(written)
            assert str(caught.value.hint).endswith("Did you mean other://tiny?")


@pytest.mark.parametrize("written", ["m", "b://m"])
async def test_a_bare_name_and_an_alias_are_settled_by_who_answers(written: str) -> None:
    registry = ProviderRegistry()
    registry.register(ScriptedProvider("a", models=[ModelInfo(name="m")]))
    registry.register_alias("b", "a")
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    client = ChatClient(parts, Conversation(model=written))
    async with client.chat("hi") as events:
        assert [event async for event in events]
    assert client.conversation.model == "a://m"


async def test_a_bare_name_is_looked_for_where_a_host_was_named_before_anywhere_else() -> None:
    registry = ProviderRegistry()
    for name in ("local", "vllm"):
        registry.register(ScriptedProvider(name, models=[ModelInfo(name="m")]))
    registry.register(ScriptedProvider("other", models=[ModelInfo(name="n")]))
    catalog = ModelCatalog(registry)
    await catalog.listing("local")
    router = Router(registry, catalog, named=("vllm",))
    assert str((await router.resolve("m")).ref) == "vllm://m"
    assert str((await router.resolve("m")).ref) == "vllm://m"
    assert str((await router.resolve("n")).ref) == "other://n"


@pytest.mark.parametrize(
    ("environ", "ways_on"),
    [
        (
            {"OLLAMA_HOST": DEAD_ADDRESS},
            "Choose one with --provider or --model, or unset OLLAMA_HOST.",
        ),
        (
            {"OLLAMA_HOST": DEAD_ADDRESS, "VLLM_HOST": "DECOY"},
            "Choose one with `--provider vllm`, or unset OLLAMA_HOST.",
        ),
    ],
)
async def test_a_dead_host_of_the_environment_comes_with_ways_to_go_on(
    environ: Mapping[str, str], ways_on: str, paths: AppPaths
) -> None:
    async with beside_another(Way("", environ=environ), paths) as (runtime, _):
        runtime.remember_model("embedded://tiny")
        first = await runtime.first_model()
    assert first.ref is None
    assert first.advice is not None
    assert first.advice.endswith(ways_on)
    assert str(first.passed_over) == "embedded://tiny"


async def test_a_model_used_last_of_a_provider_that_was_named_is_not_passed_over(
    paths: AppPaths,
) -> None:
    async with beside_another(Way("", environ={"VLLM_HOST": "DECOY"}), paths) as (runtime, _):
        runtime.remember_model("embedded://tiny")
        first = await runtime.first_model()
        assert (str(first.ref), str(first.passed_over)) == ("vllm://tiny", "embedded://tiny")
        runtime.remember_model("vllm://tiny")
        assert (await runtime.first_model()).passed_over is None


@pytest.mark.parametrize(
    ("environ", "text"), [({"OLLM_PROVIDER": "gone"}, ""), ({}, 'provider = "gone"\n')]
)
async def test_a_model_of_the_command_line_is_asked_whatever_provider_is_set_elsewhere(
    environ: Mapping[str, str], text: str, paths: AppPaths
) -> None:
    way = Way("", Flags(model="other://tiny"), environ, text)
    async with beside_another(way, paths) as (runtime, _):
        assert str((await runtime.first_model()).ref) == "other://tiny"


@pytest.mark.parametrize(
    ("flags", "text", "is_reported"),
    [
        (Flags(), "[broken\n", True),
        (Flags(), 'provider = "gone"\n', True),
        (Flags(model="other://m", provider="local"), "", False),
    ],
)
async def test_what_the_settings_have_wrong_is_known_to_be_reported_at_the_start(
    flags: Flags, text: str, is_reported: bool, paths: AppPaths
) -> None:
    async with beside_another(Way("", flags, text=text), paths) as (runtime, _):
        first = await runtime.first_model()
        assert (first.ref, first.is_reported) == (None, is_reported)
        assert bool(runtime.problems) is is_reported
