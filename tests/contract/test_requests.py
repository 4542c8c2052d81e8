"""Every adapter tells its server the same conversations, each in the words that server knows.

A body must be what was written by hand, and what the server's own client would take: nothing in
it may be unknown to the client's request types.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import get_type_hints

import pytest
from pydantic import TypeAdapter

from ollm_tui.decode.json_fields import as_object, objects
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.anthropic import to_wire as anthropic
from ollm_tui.providers.anthropic.llamacpp import as_llamacpp
from ollm_tui.providers.ollama import to_wire as ollama
from ollm_tui.providers.openai_compatible import to_wire as openai
from ollm_tui.providers.openai_compatible.kobold import KoboldProvider
from ollm_tui.providers.openai_compatible.vllm_options import VllmOptions
from tests.contract.requests import (
    as_anthropic,
    as_backends,
    as_llamacpp_messages,
    as_ollama,
    as_openai,
    as_vllm,
)
from tests.contract.requests.conversations import CONVERSATIONS, SIGNER
from tests.support.fake_backends import FakeKobold
from tests.support.fakes import REMOTES
from tests.support.http_server import serve

OF_A_PERSON = {"user"}
"""What a conversation adds by `extra_body`, unknown to some clients."""
NOT_IN_ITS_CLIENT = "min_p"
"""An option that Ollama's server documents and its client's types lack."""


# The clients take a second and more to import, in each process that collects these tests.


@cache
def openai_params() -> TypeAdapter[object]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return TypeAdapter(CompletionCreateParamsStreaming)


@cache
def openai_fields() -> frozenset[str]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return frozenset(get_type_hints(CompletionCreateParamsStreaming))


@cache
def anthropic_params() -> TypeAdapter[object]:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


def known_to_openai(body: JsonObject) -> None:
    assert plain(openai_params().validate_python(body)) == body


def known_to_vllm(body: JsonObject) -> None:
    """Fields of OpenAI's are checked by its client; the others must be vLLM's own."""
    own = set(VllmOptions.model_fields) - openai_fields()
    known_to_openai(without_result_names(body, own))
    VllmOptions.validated({key: body[key] for key in own & set(body)})


def without_result_names(body: JsonObject, own: Collection[str]) -> JsonObject:
    """Leave out what OpenAI's client does not know: keys of the server's own, names of results."""
    messages: list[JsonValue] = [
        {key: value for key, value in one.items() if (one["role"], key) != ("tool", "name")}
        for one in objects(body["messages"])
    ]
    return {key: value for key, value in body.items() if key not in own} | {"messages": messages}


def known_with(*own: str) -> "Check":
    """Fields of OpenAI's are checked by its client; the others must be these."""

    def check(body: JsonObject) -> None:
        known_to_openai({key: value for key, value in body.items() if key not in own})

    return check


def known_to_llamacpp(body: JsonObject) -> None:
    known_to_openai(without_result_names(body, (*SAMPLERS, "chat_template_kwargs")))


def known_to_llamacpp_messages(body: JsonObject) -> None:
    """The endpoint takes its template's arguments beside what Anthropic's client knows."""
    known_to_anthropic({k: v for k, v in body.items() if k != "chat_template_kwargs"})


def known_to_anthropic(body: JsonObject) -> None:
    sent = {key: value for key, value in body.items() if key not in OF_A_PERSON}
    assert plain(anthropic_params().validate_python(sent)) == sent


def known_to_ollama(body: JsonObject) -> None:
    from ollama import Options
    from ollama._types import ChatRequest

    request = ChatRequest.model_validate(body)
    # `truncate` is documented for the server; the client has no argument for it.
    assert set(body) - OF_A_PERSON - {"truncate"} <= set(ChatRequest.model_fields)
    assert set(as_object(body.get("options"))) <= {*Options.model_fields, NOT_IN_ITS_CLIENT}
    assert len(request.messages or ()) == len(objects(body["messages"]))


def plain(value: object) -> object:
    """Give what a validator made of JSON as JSON again: it reads lists lazily."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


Maker = Callable[[Request], JsonObject]
Check = Callable[[JsonObject], None]
Bodies = Mapping[str, JsonObject | ErrorCode]
SAMPLERS = ("top_k", "min_p", "repeat_penalty")
"""What llama.cpp takes beside OpenAI's options, and what is built on it."""


def sent_to(backend: str) -> Maker:
    return lambda request: openai.chat_body(request, backend)


ADAPTERS: Mapping[str, tuple[Maker, Check, Bodies]] = {
    "ollama": (ollama.chat_body, known_to_ollama, as_ollama.BODIES),
    "openai": (
        lambda request: openai.chat_body(request, openai.OFFICIAL),
        known_to_openai,
        as_openai.BODIES,
    ),
    "vllm": (lambda request: openai.chat_body(request, "vllm"), known_to_vllm, as_vllm.BODIES),
    "lmstudio": (sent_to("lmstudio"), known_with(*SAMPLERS), as_backends.LMSTUDIO),
    "localai": (sent_to("localai"), known_with(*SAMPLERS), as_backends.LOCALAI),
    "kobold": (
        sent_to("kobold"),
        known_with("top_k", "min_p", "rep_pen"),
        as_backends.KOBOLD,
    ),
    "llamacpp": (
        sent_to("llamacpp"),
        known_to_llamacpp,
        as_backends.LLAMACPP,
    ),
    "llamacpp messages": (
        lambda request: as_llamacpp(anthropic.chat_body(request, SIGNER)),
        known_to_llamacpp_messages,
        as_llamacpp_messages.BODIES,
    ),
    "anthropic": (
        lambda request: anthropic.chat_body(request, SIGNER),
        known_to_anthropic,
        as_anthropic.BODIES,
    ),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_is_sent_in_the_servers_words(adapter: str, name: str) -> None:
    make, check, bodies = ADAPTERS[adapter]
    wanted = bodies[name]
    if isinstance(wanted, ErrorCode):
        with pytest.raises(AIError) as caught:
            make(CONVERSATIONS[name])
        assert caught.value.code == wanted
        return
    made = make(CONVERSATIONS[name])
    assert made == wanted
    check(made)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_conversation_was_written_down_for_every_adapter(adapter: str) -> None:
    assert set(ADAPTERS[adapter][2]) == set(CONVERSATIONS)
    assert len(CONVERSATIONS) >= 25


@pytest.mark.parametrize("name", as_backends.IN_A_SMALL_WINDOW)
async def test_koboldcpp_is_never_asked_for_more_than_half_of_its_window(name: str) -> None:
    server = FakeKobold(window=as_backends.SMALL_WINDOW)
    async with serve(server) as served:
        provider = KoboldProvider(REMOTES["kobold"].spec(served.url))
        await provider.list_models()
        async with provider.chat_stream(replace(CONVERSATIONS[name], model="tiny")) as stream:
            async for _ in stream:
                pass
        await provider.dispose()
    made = next(r.json() for r in served.received if r.path == "/v1/chat/completions")
    assert made.pop("genkey")  # by which the generation can be stopped (quirks 7)
    assert made == as_backends.IN_A_SMALL_WINDOW[name] | {"model": "tiny"}


UNKNOWN_TO_ALL = {"something_new"}
"""What a person may write before anybody's client knows it."""


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("name", as_vllm.OPTIONS)
def test_vllms_options_are_sent_by_the_names_of_its_version(name: str, structured: bool) -> None:
    written, newer, older = as_vllm.OPTIONS[name]
    extra, _ = VllmOptions.validated(written).for_server(structured=structured)
    question = CONVERSATIONS["a question"]
    request = replace(question, options=GenerationOptions(extra_body=extra))
    made = openai.chat_body(request, "vllm")
    assert made == as_openai.body(as_openai.HI, **(newer if structured else older))
    known_to_vllm({key: value for key, value in made.items() if key not in UNKNOWN_TO_ALL})
