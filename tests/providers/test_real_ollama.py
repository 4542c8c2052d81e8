"""Every reply of a real Ollama is read as it was meant."""

from collections.abc import Awaitable, Callable

import pytest

from ollm_tui.models.capabilities import capabilities_of, is_described
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelDraft, ModelRef, PullProgress
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.ollama.models import read_running, read_show, read_tags
from ollm_tui.providers.registry import ProviderRegistry
from tests.providers.test_ollama_operations import ollama
from tests.support.corpus import EXCHANGES, Exchange, exchange
from tests.support.cuts import cut_at, one_by_one
from tests.support.http_server import Handler, Received, Reply

ENDPOINT = Endpoint("local", "Ollama", "localhost:11434", "Start it.", "Fetch it.")
STREAMED = [one for one in EXCHANGES.values() if one.expected is not None]
REASONS = {"stop": "stop", "length": "length"}


def by_id(one: Exchange) -> str:
    return one.id


async def asked(provider: OllamaProvider) -> list[ProviderEvent]:
    request = Request(model="m", messages=[Message("user", "hi")])
    async with provider.chat_stream(request) as events:
        return [event async for event in events]


def decoded(one: Exchange, chunks: list[bytes]) -> list[ProviderEvent]:
    decoder = OllamaDecoder(ENDPOINT)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


def joined(events: list[ProviderEvent]) -> tuple[object, ...]:
    return (
        "".join(event.delta for event in events if isinstance(event, TextDelta)),
        "".join(event.delta for event in events if isinstance(event, ThinkingDelta)),
        [[e.call.name, e.call.args] for e in events if isinstance(e, ToolCallEvent)],
    )


def check(one: Exchange, events: list[ProviderEvent]) -> None:
    assert one.expected is not None
    want, end = one.expected, events[-1]
    text, thinking, calls = joined(events)
    if "<think>" in want["text"]:  # left in the text by the server, taken out of it here
        assert "<think>" not in str(text)
        assert thinking
    else:
        assert (text, thinking) == (want["text"], want["thinking"])
    assert calls == want["calls"]
    if want["reason"] is None:
        assert isinstance(end, ErrorEvent)
        assert (want["error"] or "") in end.error.message
        return
    assert isinstance(end, Finish)
    assert end.reason == ("tool_calls" if calls else REASONS[want["reason"]])
    assert end.usage is not None
    assert [end.usage.prompt_tokens, end.usage.completion_tokens] == want["usage"]


@pytest.mark.parametrize("one", STREAMED, ids=by_id)
def test_a_streamed_answer_gives_its_text(one: Exchange) -> None:
    body = one.body.encode()
    for chunks in ([body], one_by_one(body), cut_at(body, [len(body) // 2])):
        check(one, decoded(one, chunks))


@pytest.mark.parametrize("one", STREAMED, ids=by_id)
async def test_a_streamed_answer_comes_through_the_client(one: Exchange) -> None:
    async with ollama(one.replay) as provider:
        check(one, await asked(provider))


def test_an_answer_that_the_server_ends_for_its_repeats_is_reported_as_such() -> None:
    whole = exchange("chat-go-repeats")
    end = decoded(whole, [whole.body.encode()])[-1]
    assert isinstance(end, ErrorEvent)
    assert end.error.message == "Ollama stopped the answer because the model repeated itself."
    shorter = "".join(whole.body.splitlines(keepends=True)[:-1]).encode()
    end = decoded(whole, [shorter])[-1]
    assert isinstance(end, ErrorEvent)
    assert "cut off" in end.error.message


REFUSED: dict[str, tuple[ErrorCode, str]] = {
    "error-tools": (ErrorCode.UNSUPPORTED_FEATURE, "does not support tools"),
    "error-thinking": (ErrorCode.UNSUPPORTED_FEATURE, "does not support thinking"),
    "error-think-level": (ErrorCode.BAD_REQUEST, "invalid think value"),
    "error-model": (ErrorCode.MODEL_NOT_FOUND, "model 'nope' not found"),
    "error-model-name": (ErrorCode.BAD_REQUEST, "does not accept the model name '"),
    "error-cloud": (ErrorCode.PERMISSION_DENIED, "cloud is disabled"),
    "error-old-field-name": (ErrorCode.BAD_REQUEST, "model is required"),
    "error-option-type": (ErrorCode.BAD_REQUEST, 'option "temperature" must be of type float32'),
    "error-format": (ErrorCode.BAD_REQUEST, 'expected "json" or a valid JSON Schema object'),
    "error-format-schema": (ErrorCode.BAD_REQUEST, "unrecognized type nothing"),
    "error-keep-alive": (ErrorCode.BAD_REQUEST, "invalid duration"),
    "error-broken-json": (ErrorCode.BAD_REQUEST, "unexpected EOF"),
    "error-no-body": (ErrorCode.BAD_REQUEST, "missing request body"),
    "error-picture-base64": (ErrorCode.BAD_REQUEST, "illegal base64"),
    "error-picture-go": (ErrorCode.UNSUPPORTED_MODALITY, "does not support multimodal requests"),
    "overflow-history-refused": (ErrorCode.CONTEXT_LENGTH_EXCEEDED, "15012 tokens"),
    "overflow-message": (ErrorCode.CONTEXT_LENGTH_EXCEEDED, "5020 tokens"),
    "overflow-go-message-refused": (ErrorCode.CONTEXT_LENGTH_EXCEEDED, "5020 tokens"),
    "overflow-go-message-no-shift": (ErrorCode.CONTEXT_LENGTH_EXCEEDED, "longer than the context"),
    "error-file-damaged": (ErrorCode.INTERNAL_ERROR, "exceeds file size"),
    "error-file-missing": (ErrorCode.MODEL_NOT_FOUND, 'model "damaged" not found'),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refused_chat_is_reported_in_plain_words_and_not_tried_again(name: str) -> None:
    code, words = REFUSED[name]
    async with ollama(exchange(name).replay) as provider:
        end = (await asked(provider))[-1]
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.retryable) == (code, False)
    assert words in end.error.message
    assert "{" not in end.error.message


async def test_a_full_window_is_reported_with_its_sizes() -> None:
    async with ollama(exchange("overflow-history-refused").replay) as provider:
        end = (await asked(provider))[-1]
    assert isinstance(end, ErrorEvent)
    assert end.error.details["prompt_tokens"] == 15012
    assert end.error.details["context_tokens"] == 2048


async def test_a_damaged_model_file_has_a_way_out() -> None:
    async with ollama(exchange("error-file-damaged").replay) as provider:
        end = (await asked(provider))[-1]
    assert isinstance(end, ErrorEvent)
    assert end.error.hint is not None
    assert "download it again" in end.error.hint


async def pull(provider: OllamaProvider) -> None:
    async for _step in provider.pull_model("m"):
        pass


async def ignore(_step: PullProgress) -> None:
    pass


async def create(provider: OllamaProvider) -> None:
    await provider.create_model("m", ModelDraft(), ignore)


async def push(provider: OllamaProvider) -> None:
    await provider.push_model("m", ignore)


ACTIONS: dict[str, tuple[Callable[[OllamaProvider], Awaitable[object]], ErrorCode | None, str]] = {
    "load": (lambda one: one.load_model("m"), None, ""),
    "load-for-ever": (lambda one: one.load_model_for("m", -1), None, ""),
    "unload": (lambda one: one.unload_model("m"), None, ""),
    "copy": (lambda one: one.copy_model("m", "n"), None, ""),
    "delete": (lambda one: one.delete_model("m"), None, ""),
    "pull": (pull, None, ""),
    "pull-again": (pull, None, ""),
    "create": (create, None, ""),
    "quantize": (create, None, ""),
    "push": (push, None, ""),
    "error-create-cut": (create, ErrorCode.UNSUPPORTED_FEATURE, "exceeds file size"),
    "error-create-junk": (create, ErrorCode.UNSUPPORTED_FEATURE, "not in GGUF format"),
    "error-create-template": (create, ErrorCode.BAD_REQUEST, "unclosed action"),
    "error-quantize-again": (create, ErrorCode.UNSUPPORTED_FEATURE, "only supported for F16"),
    "error-push-forbidden": (push, ErrorCode.AUTH_FAILED, "answered with status 403."),
    "error-load-unknown": (lambda one: one.load_model("m"), ErrorCode.MODEL_NOT_FOUND, "'nope'"),
    "error-unload-unknown": (
        lambda one: one.unload_model("m"),
        ErrorCode.MODEL_NOT_FOUND,
        "'nope'",
    ),
    "error-show-unknown": (lambda one: one.show_model("m"), ErrorCode.MODEL_NOT_FOUND, "nope"),
    "error-copy-unknown": (lambda one: one.copy_model("m", "n"), ErrorCode.MODEL_NOT_FOUND, "nope"),
    "error-copy-name": (
        lambda one: one.copy_model("m", "n"),
        ErrorCode.BAD_REQUEST,
        "does not accept the model name 'a b'",
    ),
    "error-show-name": (
        lambda one: one.show_model("m"),
        ErrorCode.BAD_REQUEST,
        "does not accept the model name '",
    ),
    "error-delete-name": (
        lambda one: one.delete_model("m"),
        ErrorCode.BAD_REQUEST,
        "does not accept the model name 'a b'",
    ),
    "error-delete-unknown": (lambda one: one.delete_model("m"), ErrorCode.MODEL_NOT_FOUND, "nope"),
    "error-pull-name": (pull, ErrorCode.BAD_REQUEST, "does not accept the model name '"),
    "error-pull-nope": (pull, ErrorCode.MODEL_NOT_FOUND, "file does not exist"),
    "error-pull-noblob": (pull, ErrorCode.MODEL_NOT_FOUND, "file does not exist"),
    "error-pull-badsum": (pull, ErrorCode.INTERNAL_ERROR, "digest mismatch"),
    "error-pull-denied": (pull, ErrorCode.AUTH_FAILED, "pull model manifest: 403: denied"),
    "error-pull-old": (pull, ErrorCode.UNSUPPORTED_FEATURE, "412: The model you are attempting"),
    "error-pull-boom": (pull, ErrorCode.INTERNAL_ERROR, "500: oops"),
    "error-pull-tls": (pull, ErrorCode.SERVICE_UNAVAILABLE, "TLS handshake"),
    "error-pull-network": (pull, ErrorCode.SERVICE_UNAVAILABLE, "no such host"),
}


@pytest.mark.parametrize("name", ACTIONS)
async def test_work_on_models_succeeds_or_fails_as_the_server_says(name: str) -> None:
    action, code, words = ACTIONS[name]
    async with ollama(exchange(name).replay) as provider:
        if code is None:
            await action(provider)
            return
        with pytest.raises(AIError) as caught:
            await action(provider)
    assert caught.value.code == code
    assert words in caught.value.message
    assert "{" not in caught.value.message


async def test_what_a_registry_without_https_needs_is_reported() -> None:
    async with ollama(exchange("error-pull-tls").replay) as provider:
        with pytest.raises(AIError) as caught:
            await pull(provider)
    assert caught.value.hint is not None
    assert "--insecure" in caught.value.hint


def test_a_list_leaves_open_what_only_the_template_in_the_file_says() -> None:
    listed = {info.name: info for info in read_tags(exchange("tags").reply)}
    by_template, by_modelfile = listed["scripted:latest"], listed["go-tool:latest"]
    shown = read_show("scripted:latest", exchange("show-scripted").reply)
    assert capabilities_of(by_template).tools.value is None
    assert capabilities_of(by_template).thinking.value is None
    assert not is_described(by_template)
    assert capabilities_of(shown).tools.value is True
    assert capabilities_of(shown).thinking.value is True
    assert capabilities_of(by_modelfile).tools.value is True
    assert capabilities_of(by_template).vision.value is False
    assert by_template.details["context_trained"] == 32768
    plain = read_show("go-plain:latest", exchange("show-go-plain").reply)
    assert capabilities_of(plain).tools.value is False


def test_the_parameters_of_a_model_are_read_without_their_quotes() -> None:
    shown = read_show("set:latest", exchange("show-set").reply)
    assert shown.details["parameters"] == {
        "num_ctx": ["2048"],
        "stop": ["\n\n", '"""', "\u200b", "<|x|>"],
        "temperature": ["0.25"],
    }


def test_a_model_says_that_a_renderer_writes_its_prompts() -> None:
    shown = exchange("show-rendered").reply
    assert read_show("m", shown).details["renderer"] == "qwen3-coder"
    own_text = {**shown, "modelfile": 'SYSTEM """\nRENDERER none\n"""\n'}
    assert "renderer" not in read_show("m", own_text).details
    assert read_show("m", {**own_text, "renderer": "new"}).details["renderer"] == "new"


def replaying(*names: str) -> Handler:
    """Answer each path by the newest named exchange with it."""
    by_path = {exchange(name).path: exchange(name) for name in names}

    async def answer(request: Received, reply: Reply) -> None:
        await by_path[request.path].replay(request, reply)

    return answer


async def test_a_model_that_is_chosen_is_described_where_the_list_leaves_something_open() -> None:
    async with ollama(replaying("tags", "ps", "show-scripted")) as provider:
        registry = ProviderRegistry()
        registry.register(provider)
        catalog, ref = ModelCatalog(registry), ModelRef("local", "scripted:latest")
        await catalog.refresh()
        await catalog.describe(ref)
        info = catalog.find(ref)
        assert info is not None
        assert capabilities_of(info).tools.value is True
        catalog.forget()
        await catalog.refresh()
        info = catalog.find(ref)
        assert info is not None
        assert capabilities_of(info).tools.value is True, "a new list does not take it back"


def test_loaded_models_tell_their_window_and_until_when() -> None:
    assert read_running(exchange("ps-empty").reply) == {}
    running = read_running(exchange("ps").reply)
    assert running["par:latest"].context == 2048
    assert str(running["go-plain:latest"].details["expires_at"]).startswith("23")


def test_a_described_model_tells_what_its_modelfile_says() -> None:
    info = read_show("par", exchange("show-par").reply)
    assert info.context == 2048
    assert info.details["system"] == "You are tiny."
    assert info.details["licence"] == "One licence.\nAnother one."
    parameters = info.details["parameters"]
    assert isinstance(parameters, dict)
    assert parameters["stop"] == ["A", "B"]


async def test_a_server_that_was_built_without_a_version_is_no_failure() -> None:
    async with ollama(exchange("version").replay) as provider:
        assert await provider.server_version() == "0.0.0"


def test_every_recorded_exchange_is_whole_json() -> None:
    assert len(EXCHANGES) > 80
    for one in EXCHANGES.values():
        if one.content_type.startswith("application/json") and one.body:
            assert one.reply is not None
