"""The embedded provider on the real engine, from request to events."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsDispose,
    SupportsList,
    SupportsLoad,
    SupportsLoadFor,
    SupportsPull,
    SupportsRunning,
    SupportsShow,
    SupportsUnload,
)
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    LeftOut,
    PromptProgress,
    ProviderEvent,
    TextDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolName
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.supervisor import Engine
from ollm_tui.providers.openai_compatible.llamacpp import LlamaCppProvider
from tests.providers.answers import answer, end_of, text_of, thinking_of
from tests.support.engine import (
    MODEL,
    SETTINGS,
    WEATHER,
    ask,
    embedded,
    is_running,
    needs_engine,
)
from tests.support.tiny_gguf import AFTER_TOOL, ANSWER, FOREVER_PIECE, HELLO, THOUGHT, UNICODE

pytestmark = [pytest.mark.engine, needs_engine]


async def test_the_answer_is_the_model_s_text_with_counts_and_load_time(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        first = await answer(provider, ask("hi"))
        second = await answer(provider, ask("hi"))
    for events in (first, second):
        assert text_of(events) == HELLO, end_of(events)
    end = end_of(first)
    assert isinstance(end, Finish)
    assert end.reason == "stop"
    assert end.usage is not None
    # <im_start>user\n + hi + <im_end>\n + <im_start>assistant\n + start token; bytes are tokens.
    assert end.usage.prompt_tokens == 1 + 5 + 2 + 1 + 1 + 1 + 10 + 1
    assert end.usage.completion_tokens == 20
    assert end.timings is not None
    assert end.timings.load_s is not None
    assert end.timings.first_token_s is not None
    assert end.timings.first_token_s > end.timings.load_s > 0
    again = end_of(second)
    assert isinstance(again, Finish)
    assert again.timings is not None
    assert again.timings.load_s is None


async def test_reasoning_comes_as_thinking_and_not_as_text(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        events = await answer(provider, ask("think about it"))
    assert thinking_of(events).strip() == THOUGHT
    assert text_of(events).strip() == ANSWER


async def test_text_of_all_scripts_comes_whole(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        events = await answer(provider, ask("unicode"))
    assert text_of(events) == UNICODE


async def test_a_tool_is_called_and_its_result_is_answered(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        events = await answer(provider, ask("weather in Paris?", tools=[WEATHER]))
        calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
        assert [(call.name, call.args) for call in calls] == [("get_weather", {"city": "Paris"})]
        end = end_of(events)
        assert isinstance(end, Finish)
        assert end.reason == "tool_calls"
        with_result = Request(
            model=MODEL,
            messages=[
                Message("user", "weather in Paris?"),
                Message("assistant", tool_calls=calls),
                Message("tool", "sunny", name="get_weather", tool_call_id=calls[0].id),
            ],
            tools=[WEATHER],
        )
        assert text_of(await answer(provider, with_result)) == AFTER_TOOL


async def test_a_schema_holds(model_folder: Path) -> None:
    options = GenerationOptions(
        response_format={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        }
    )
    async with embedded(model_folder) as (provider, _):
        events = await answer(provider, ask("json", options=options))
    assert text_of(events).replace(" ", "") == '{"n":1}'


async def test_invoke_gives_the_whole_answer(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        request = Request(model=MODEL, messages=[Message("user", "hi")], stream=False)
        response = await provider.invoke(request)
    assert isinstance(response, Response)
    assert response.text == HELLO
    assert response.finish_reason == "stop"


async def is_idle(engine: Engine[Any]) -> bool:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.key}"}) as client:
        slots = (await client.get(f"{engine.url}/slots")).json()
    return not any(slot["is_processing"] for slot in slots)


async def wait_idle(engine: Engine[Any]) -> None:
    with anyio.fail_after(5):
        while not await is_idle(engine):
            await anyio.lowlevel.checkpoint()


async def test_the_signal_stops_an_endless_answer_and_the_engine_lives_on(
    model_folder: Path,
) -> None:
    stop = AbortSignal()
    async with embedded(model_folder) as (provider, supervisor):
        got: list[object] = []
        with anyio.fail_after(20):
            async with provider.chat_stream(ask("forever", signal=stop)) as events:
                async for event in events:
                    got.append(event)
                    if len(got) == 5:
                        stop.abort()
        assert isinstance(got[-1], Finish)
        assert got[-1].reason == "abort"
        engine = supervisor.engines[0]
        await wait_idle(engine)
        assert text_of(await answer(provider, ask("hi"))) == HELLO
        assert supervisor.engines == (engine,)


async def test_cancelling_the_task_stops_an_endless_answer(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        with anyio.CancelScope() as scope:
            async with provider.chat_stream(ask("forever")) as events:
                async for event in events:
                    if isinstance(event, PromptProgress):
                        continue
                    assert isinstance(event, TextDelta)
                    assert FOREVER_PIECE.strip() in event.delta
                    scope.cancel()
        assert scope.cancelled_caught
        await wait_idle(supervisor.engines[0])
        assert supervisor.engines[0].leases == 0
        assert text_of(await answer(provider, ask("hi"))) == HELLO


async def test_leaving_early_stops_an_endless_answer(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        async with provider.chat_stream(ask("forever")) as events:
            await anext(events)
        await wait_idle(supervisor.engines[0])


async def test_a_signal_given_before_loads_nothing(model_folder: Path) -> None:
    stop = AbortSignal()
    stop.abort()
    async with embedded(model_folder) as (provider, supervisor):
        assert await answer(provider, ask("hi", signal=stop)) == [Finish("abort")]
        assert supervisor.engines == ()


async def test_models_are_listed_with_what_is_known(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        (info,) = await provider.list_models()
        assert (info.name, info.loaded, info.context) == (MODEL, False, 4096)
        assert info.details["quantization"] == "Q8_0"
        assert info.capability is not None
        assert {"tool_use", "thinking"} <= info.capability.features
        assert await provider.list_running() == []
        await provider.load_model(MODEL)
        (running,) = await provider.list_running()
        assert running.name == MODEL
        # what the engine's process holds: more than the file, with its program and window
        held = running.details["memory_bytes"]
        assert isinstance(held, int)
        assert held > (model_folder / f"{MODEL}.gguf").stat().st_size + 10_000_000
        shown = await provider.show_model(MODEL)
        assert shown.details["path"] == str(model_folder / f"{MODEL}.gguf")
        await provider.unload_model(MODEL)
        assert await provider.list_running() == []


async def test_a_model_stays_as_long_as_its_load_asked_for(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        assert isinstance(provider, SupportsLoadFor)
        await provider.load_model_for(MODEL, "2h")
        (engine,) = supervisor.engines
        assert engine.idle_unload_s == 7200
        (hours,) = await provider.list_running()
        until = datetime.fromisoformat(str(hours.details["expires_at"]))
        assert 6000 < (until - datetime.now(UTC)).total_seconds() <= 7200
        assert (await provider.show_model(MODEL)).details["expires_at"] == until.isoformat()
        await provider.load_model_for(MODEL, -1)
        assert supervisor.engines == (engine,), "it is not loaded twice"
        (lasting,) = await provider.list_running()
        assert "expires_at" not in lasting.details
        with pytest.raises(AIError, match="keep_alive must be"):
            await provider.load_model_for(MODEL, "soon")


async def test_the_window_a_request_asks_for_is_loaded(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await answer(provider, ask("hi"))
        await answer(provider, ask("hi", options=GenerationOptions(num_ctx=1024)))
        (engine,) = supervisor.engines
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.key}"}) as client:
            props = (await client.get(f"{engine.url}/props")).json()
        assert props["default_generation_settings"]["n_ctx"] == engine.plan.context == 1024
        (running,), (listed,) = await provider.list_running(), await provider.list_models()
        assert (running.context, listed.context) == (1024, 4096), "the next one asks for none"


async def test_a_prompt_longer_than_the_window_is_refused_with_both_figures(
    model_folder: Path,
) -> None:
    options = GenerationOptions(num_ctx=256)
    async with embedded(model_folder) as (provider, _):
        end = end_of(await answer(provider, ask("x" * 2000, options=options)))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED


async def test_broken_and_unknown_files_are_named_in_a_sentence(
    model_folder: Path, tmp_path: Path
) -> None:
    whole = (model_folder / f"{MODEL}.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "odd.gguf").write_bytes(whole.replace(b"llama", b"lxama", 2))
    async with embedded(tmp_path) as (provider, _):
        cut = end_of(await answer(provider, ask("hi", model="cut")))
        odd = end_of(await answer(provider, ask("hi", model="odd")))
        none = end_of(await answer(provider, ask("hi", model="none")))
    assert isinstance(cut, ErrorEvent)
    assert isinstance(odd, ErrorEvent)
    assert isinstance(none, ErrorEvent)
    assert cut.error.message == (
        f"cut is not a usable GGUF file: it is cut short: {len(whole) // 2} of {len(whole)} "
        "bytes are there."
    )
    assert "unknown model architecture: 'lxama'" in odd.error.message
    assert (none.error.code, none.error.provider) == (ErrorCode.MODEL_NOT_FOUND, "embedded")


async def test_without_the_engine_the_way_to_install_it_is_reported(model_folder: Path) -> None:
    library = FolderLibrary([model_folder])
    async with EmbeddedProvider(library, SETTINGS, is_installed=lambda: False) as it:
        end = end_of(await answer(it, ask("hi")))
    assert isinstance(end, ErrorEvent)
    assert "pip install xllamacpp" in str(end.error)


async def test_a_request_says_how_long_the_model_stays(model_folder: Path) -> None:
    asked: list[float] = []

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        await anyio.sleep_forever()

    async with embedded(model_folder, sleep=sleep) as (provider, _):
        for keep_alive in ("1h30m", 7, "-1", "forever", "5us", None):
            options = GenerationOptions(keep_alive=keep_alive)
            assert isinstance(end_of(await answer(provider, ask("hi", options=options))), Finish)
            await anyio.wait_all_tasks_blocked()
    assert asked == [5400, 7, pytest.approx(5e-6), SETTINGS.idle_unload_s]


@pytest.mark.parametrize("keep_alive", ["?", "nan", True, float("nan"), float("inf")])
async def test_a_model_is_not_loaded_for_what_is_no_time(
    model_folder: Path, keep_alive: str | float
) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        with pytest.raises(AIError, match="keep_alive must be") as refused:
            await provider.load_model_for(MODEL, keep_alive)
        assert supervisor.engines == ()
    assert refused.value.code == ErrorCode.BAD_REQUEST


async def test_dispose_ends_the_engine_and_refuses_further_requests(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        pid = supervisor.engines[0].pid
        with anyio.fail_after(2):
            await provider.dispose()
        assert not is_running(pid)
        end = end_of(await answer(provider, ask("hi")))
        assert isinstance(end, ErrorEvent)
        with pytest.raises(AIError):
            await provider.load_model(MODEL)


async def test_dispose_in_the_middle_of_an_answer_ends_it(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        got = []
        with anyio.fail_after(5):
            async with provider.chat_stream(ask("forever")) as events:
                async for event in events:
                    got.append(event)
                    if len(got) == 3:
                        await provider.dispose()
        assert isinstance(got[-1], ErrorEvent)


async def test_an_error_in_the_block_leaves_as_itself(model_folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with embedded(model_folder) as (provider, _):
            await provider.load_model(MODEL)
            raise ZeroDivisionError


def test_it_offers_what_it_can_do() -> None:
    provider = EmbeddedProvider(FolderLibrary([]))
    for protocol in (
        ProviderAdapter,
        SupportsList,
        SupportsShow,
        SupportsLoad,
        SupportsUnload,
        SupportsRunning,
        SupportsDispose,
    ):
        assert isinstance(provider, protocol)
    assert not isinstance(provider, SupportsPull)


async def test_a_tool_that_is_named_is_the_one_that_is_called(model_folder: Path) -> None:
    other = replace(WEATHER, name="other")
    for name in ("get_weather", "other"):
        asked = replace(ask("hello", tools=[WEATHER, other]), tool_choice=ToolName(name))
        async with embedded(model_folder) as (provider, _):
            got = await answer(provider, asked)
        assert [event.call.name for event in got if isinstance(event, ToolCallEvent)] == [name]


async def test_the_family_and_the_settings_beside_a_file_fill_a_request(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Request] = []
    original = LlamaCppProvider.chat_stream

    def chat_stream(
        self: LlamaCppProvider, request: Request
    ) -> AbstractAsyncContextManager[AsyncIterator[ProviderEvent]]:
        sent.append(request)
        return original(self, request)

    monkeypatch.setattr(LlamaCppProvider, "chat_stream", chat_stream)
    (tmp_path / "qwen3-tiny.gguf").symlink_to(model_folder / f"{MODEL}.gguf")
    beside = tmp_path / "qwen3-tiny.config.yaml"
    asked = ask("hi", model="qwen3-tiny", options=GenerationOptions(top_k=3))
    async with embedded(tmp_path) as (provider, _):
        assert not [e for e in await answer(provider, asked) if isinstance(e, LeftOut)]
        beside.write_text("systemPrompt: Be brief.\nparameters: {temperature: 0.1}")
        assert not [e for e in await answer(provider, asked) if isinstance(e, LeftOut)]
        beside.write_text("shouldThink: {mode: deep}\nprompt: {a: b}\nsupports: [tools]")
        unused = [e for e in await answer(provider, asked) if isinstance(e, LeftOut)]
        beside.write_text("parameters: {temperature: hot}")
        broken = [e for e in await answer(provider, asked) if isinstance(e, LeftOut)]
    family = GenerationOptions(temperature=0.6, top_p=0.95, top_k=3, min_p=0)
    assert [request.options for request in sent[:2]] == [family, replace(family, temperature=0.1)]
    assert [request.system_prompt for request in sent] == [None, "Be brief.", None, None]
    assert not unused
    assert [(e.field, e.error.message) for e in broken] == [
        (beside.name, f"{beside}:1: `parameters.temperature` must be a number.")
    ]
