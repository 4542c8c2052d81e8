"""What a provider can do beyond chatting is seen by its methods, and told where it cannot."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.media_ports import (
    SupportsDrawingJobs,
    SupportsInfill,
    SupportsMusic,
    SupportsVideo,
    SupportsVideoJobs,
)
from ollm_tui.protocol.model import ModelCapability, PullProgress
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    ProviderStream,
    RemembersListError,
    StreamingFormat,
    SupportsCopy,
    SupportsCreate,
    SupportsDelete,
    SupportsDispose,
    SupportsEmbed,
    SupportsInitialize,
    SupportsList,
    SupportsLoad,
    SupportsLoadFor,
    SupportsPictures,
    SupportsPromptText,
    SupportsPull,
    SupportsPush,
    SupportsQuantize,
    SupportsRunning,
    SupportsShow,
    SupportsSpeech,
    SupportsTextTokenCount,
    SupportsTokenCount,
    SupportsTranscription,
    SupportsUnload,
    SupportsVersion,
)
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers import create_provider
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.operations import (
    method_of,
    puller,
    pulling,
)
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.spec import ProviderSpec

FEATURES: Mapping[str, type] = {
    "count_tokens": SupportsTokenCount,
    "count_text_tokens": SupportsTextTokenCount,
    "prompt_text": SupportsPromptText,
    "embed": SupportsEmbed,
    "speak": SupportsSpeech,
    "transcribe": SupportsTranscription,
    "draw": SupportsPictures,
    "resume_drawing": SupportsDrawingJobs,
    "make_video": SupportsVideo,
    "resume_video": SupportsVideoJobs,
    "make_music": SupportsMusic,
    "infill": SupportsInfill,
    "list_models": SupportsList,
    "last_error": RemembersListError,
    "show_model": SupportsShow,
    "pull_model": SupportsPull,
    "delete_model": SupportsDelete,
    "copy_model": SupportsCopy,
    "create_model": SupportsCreate,
    "quantize_model": SupportsQuantize,
    "push_model": SupportsPush,
    "load_model": SupportsLoad,
    "load_model_for": SupportsLoadFor,
    "unload_model": SupportsUnload,
    "list_running": SupportsRunning,
    "server_version": SupportsVersion,
    "initialize": SupportsInitialize,
    "dispose": SupportsDispose,
}
MAKES = {"speak", "transcribe", "draw", "make_video", "resume_video", "infill"}
LIKE_OPENAI = {"list_models", "last_error", "embed", "dispose"} | MAKES
MANAGES = {"pull_model", "unload_model", "list_running"}


class Bare:
    """Can chat, and nothing else."""

    name = "bare"
    label = "Bare"
    streaming_format: StreamingFormat = "none"

    def chat_stream(self, request: Request) -> ProviderStream:
        raise NotImplementedError

    async def invoke(self, request: Request) -> Response | ProviderStream:
        raise NotImplementedError

    def capabilities(self) -> tuple[ModelCapability, ...]:
        return ()


async def not_called(*_: object) -> None:
    raise NotImplementedError


def provider_with(methods: frozenset[str], **more: object) -> ProviderAdapter:
    made = type("Made", (Bare,), dict.fromkeys(methods, not_called) | more)()
    assert isinstance(made, ProviderAdapter)
    return made


# Feature: stage-11-vllm-openai, Property 22: Feature Capability Detection
@settings(max_examples=100)
@given(methods=st.frozensets(st.sampled_from(sorted(FEATURES))))
def test_a_feature_is_there_when_its_method_is(methods: frozenset[str]) -> None:
    provider = provider_with(methods)
    found = {name for name, protocol in FEATURES.items() if isinstance(provider, protocol)}
    assert found == methods


@pytest.mark.parametrize(
    ("kind", "backend", "can"),
    [
        (
            "ollama",
            None,
            {"list_models", "list_running", "show_model", "pull_model", "delete_model"}
            | {"copy_model", "load_model", "load_model_for", "unload_model", "server_version"}
            | {"create_model", "quantize_model", "push_model", "prompt_text", "embed", "dispose"}
            | {"draw", "infill"},
        ),
        ("anthropic", None, {"list_models", "count_tokens", "dispose"}),
        ("anthropic", "llamacpp", {"list_models", "count_tokens", "embed", "dispose"}),
        ("openai-compatible", None, LIKE_OPENAI),
        ("openai-compatible", "generic", LIKE_OPENAI),
        ("openai-compatible", "vllm", LIKE_OPENAI | {"count_tokens", "prompt_text"}),
        ("openai-compatible", "llamacpp", LIKE_OPENAI | {"count_tokens", "prompt_text"}),
        (
            "openai-compatible",
            "llamacpp-router",
            LIKE_OPENAI
            | MANAGES
            | {"count_tokens", "prompt_text", "load_model", "show_model", "delete_model"},
        ),
        ("openai-compatible", "lmstudio", LIKE_OPENAI | MANAGES | {"load_model", "show_model"}),
        (
            "openai-compatible",
            "localai",
            LIKE_OPENAI | MANAGES | {"count_text_tokens", "delete_model", "make_music"},
        ),
        ("openai-compatible", "kobold", LIKE_OPENAI | {"count_text_tokens"}),
    ],
)
def test_the_adapters_offer_what_their_servers_do(
    kind: str, backend: str | None, can: set[str]
) -> None:
    spec = ProviderSpec(name="p", kind=kind, base_url="http://localhost:1", backend=backend)
    provider = create_provider(spec)
    assert {name for name, protocol in FEATURES.items() if isinstance(provider, protocol)} == can


def test_the_embedded_engine_manages_the_files_of_this_machine() -> None:
    provider = EmbeddedProvider(FolderLibrary([]))
    can = {name for name, protocol in FEATURES.items() if isinstance(provider, protocol)}
    assert can == {
        "draw",
        "embed",
        "infill",
        "speak",
        "transcribe",
        "list_models",
        "show_model",
        "delete_model",
        "load_model",
        "load_model_for",
        "unload_model",
        "list_running",
        "count_tokens",
        "prompt_text",
        "dispose",
    }


# Feature: stage-11-vllm-openai, Property 20: Unsupported Operation Messages
@settings(max_examples=100)
@given(
    label=st.text(min_size=1),
    name=st.text(min_size=1),
    methods=st.frozensets(st.sampled_from(sorted(set(FEATURES) - {"list_models"}))),
)
async def test_what_a_provider_cannot_do_is_reported_with_its_name(
    label: str, name: str, methods: frozenset[str]
) -> None:
    registry = ProviderRegistry()
    registry.register(provider_with(methods, label=label, name=name))
    listing = await ModelCatalog(registry).listing(name)
    assert listing.models == ()
    assert listing.problem is not None
    assert listing.problem.code == ErrorCode.UNSUPPORTED_FEATURE
    assert listing.problem.message == f"{label} cannot list its models."


ACTIONS: Mapping[str, tuple[Callable[[ProviderAdapter], object], str]] = {
    "show_model": (partial(method_of, action="show"), "describe models"),
    "pull_model": (puller, "pull models"),
    "delete_model": (partial(method_of, action="delete"), "delete models"),
    "copy_model": (partial(method_of, action="copy"), "copy models"),
    "create_model": (partial(method_of, action="create"), "create models"),
    "quantize_model": (partial(method_of, action="quantize"), "quantize models"),
    "push_model": (partial(method_of, action="push"), "push models"),
    "load_model": (partial(method_of, action="load"), "load models"),
    "load_model_for": (partial(method_of, action="keep"), "be told how long to keep a model"),
    "unload_model": (partial(method_of, action="unload"), "unload models"),
}


# Feature: stage-11-vllm-openai, Property 20: Unsupported Operation Messages
@settings(max_examples=100)
@given(label=st.text(min_size=1), methods=st.frozensets(st.sampled_from(sorted(FEATURES))))
def test_an_action_is_given_where_its_method_is_and_refused_elsewhere(
    label: str, methods: frozenset[str]
) -> None:
    provider = provider_with(methods, label=label)
    for method, (find, action) in ACTIONS.items():
        if method in methods:
            assert find(provider) in (provider, getattr(provider, method))
            continue
        with pytest.raises(AIError) as caught:
            find(provider)
        assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
        assert caught.value.message == f"{label} cannot {action}."


def test_a_provider_with_wrong_settings_says_what_is_wrong_with_them() -> None:
    problem = AIError(ErrorCode.AUTH_FAILED, "It needs a key.")
    with pytest.raises(AIError) as caught:
        puller(UnusableProvider("p", "P", problem))
    assert caught.value is problem


async def test_an_answer_that_ended_before_it_began_leaves_nothing_to_close() -> None:
    problem = AIError(ErrorCode.AUTH_FAILED, "It needs a key.")
    async with UnusableProvider("p", "P", problem).chat_stream(
        Request(model="m", input="hi")
    ) as events:
        assert await anext(events) == ErrorEvent(problem)
    assert not inspect.isasyncgen(events)
    assert [event async for event in events] == []


async def test_leaving_a_pull_closes_what_a_generator_holds() -> None:
    closed: list[bool] = []

    async def pull_model(_self: object, _name: str) -> AsyncIterator[PullProgress]:
        try:
            while True:
                yield PullProgress(status="pulling")
        finally:
            closed.append(True)

    provider = provider_with(frozenset(), pull_model=pull_model)
    async with pulling(provider, "m") as progress:
        async for step in progress:
            assert step.status == "pulling"
            break
    assert closed == [True]
