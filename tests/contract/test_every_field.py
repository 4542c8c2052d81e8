"""Whatever a request may ask for is sent, acted on, refused, or said to be left out.

The fields are walked, so that a new one fails here until it has a sample; and a sample that an
adapter neither sends nor refuses nor speaks of fails for that adapter.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    EmbeddingContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import ErrorEvent, LeftOut, TextDelta, ThinkingDelta
from ollm_tui.protocol.request import GenerationOptions, Request, ThinkingConfig, ThinkingPlan
from ollm_tui.protocol.tools import ToolCall, ToolName, ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from tests.contract.rig_embedded import scripted_bytes
from tests.support.fake_backends import FakeLlamaCpp
from tests.support.fakes import REMOTES
from tests.support.http_server import Handler, Server, serve

CHATS = ("/api/chat", "/chat/completions", "/messages")
REFUSALS = (ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.UNSUPPORTED_MODALITY)
MARK = "b1ue-m4rk"
CITY: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
TOOL = ToolSchema(name="clock", description="Tells it.", parameters=CITY)
CALL = ToolCall(id="c1", name="clock", args={"city": "Oslo"}, raw_args='{"city": "Oslo"}')
HELLO = Message("user", "hello")
ASK = Request(model="tiny", messages=[HELLO])

MODELS = {"ollama": "thinker"}


def asks(**changes: object) -> Request:
    return replace(ASK, **changes)  # type: ignore[arg-type]


def chats(*messages: Message, **changes: object) -> Request:
    return asks(messages=messages, **changes)


def with_options(**named: object) -> Request:
    return asks(options=GenerationOptions(**named))  # type: ignore[arg-type]


def thinks(**named: object) -> Request:
    return asks(should_think=ThinkingConfig(**({"mode": "last"} | named)))  # type: ignore[arg-type]


def offers(**named: object) -> Request:
    return asks(tools=[replace(TOOL, **named)])  # type: ignore[arg-type]


def called(**named: object) -> Request:
    call = replace(CALL, **named)  # type: ignore[arg-type]
    result = Message("tool", "12:00", name=call.name, tool_call_id=call.id)
    return chats(HELLO, Message("assistant", tool_calls=[call]), result, tools=[TOOL])


def shows(block: Block) -> Request:
    return chats(Message("user", [TextContent("hello"), block]))


@dataclass(frozen=True)
class Sample:
    """A request that sets one thing, the same without it, and what it is called when left out."""

    asked: Request
    without: Request = ASK
    note: str = ""


REQUEST: Mapping[str, list[Sample] | str] = {
    "model": [Sample(asks(model=f"tiny-{MARK}"))],
    "messages": [Sample(chats(Message("user", f"hello {MARK}")))],
    "input": [
        Sample(asks(messages=None, input="hello")),
        Sample(asks(messages=None, input=[AudioContent(data=b"RIFF")])),
        Sample(asks(messages=None, input=[TextContent("cat"), ImageContent(data=b"\x89PNG")])),
        Sample(asks(messages=None, input=[VideoContent(data=b"mp4")])),
    ],
    "mask": [Sample(asks(mask=ImageContent(data=b"\x89PNG")))],
    "suffix": [Sample(asks(suffix=MARK))],
    "output": [Sample(asks(output="audio")), Sample(asks(output="embedding"))],
    "system_prompt": [Sample(asks(system_prompt=MARK))],
    "tools": [Sample(asks(tools=[TOOL]))],
    "tool_choice": [
        Sample(asks(tools=[TOOL], tool_choice="required"), asks(tools=[TOOL])),
        Sample(
            asks(tools=[TOOL, replace(TOOL, name="map")], tool_choice=ToolName("map")),
            asks(tools=[TOOL, replace(TOOL, name="map")]),
        ),
        Sample(asks(tools=[TOOL], tool_choice="none"), asks(tools=[TOOL])),
    ],
    "should_think": [
        Sample(asks(should_think=wish), note="think")
        for wish in (True, False, "off", "last", "first", "deep")
    ],
    "thinking": [
        Sample(asks(thinking=ThinkingPlan(mode="deep", is_on=True, effort="high")), note="think"),
        Sample(asks(thinking=ThinkingPlan(mode="off", is_on=False)), note="think"),
    ],
    "options": [Sample(with_options(temperature=0.25))],
    "template_format": [Sample(asks(template_format="mustache"))],
    "template_values": [Sample(asks(template_values={"name": "Ann"}))],
    "stream": "tests/contract/test_provider.py asks for whole answers",
    "signal": "tests/contract/test_stops.py stops answers by it",
    "state_folder": "tests/providers/embedded/test_prompt_states.py keeps states in it",
}
OPTIONS: Mapping[str, list[Sample] | str] = {
    "temperature": [Sample(with_options(temperature=0.25))],
    "max_tokens": [Sample(with_options(max_tokens=77))],
    "top_p": [Sample(with_options(top_p=0.25))],
    "top_k": [Sample(with_options(top_k=33))],
    "min_p": [Sample(with_options(min_p=0.125))],
    "repeat_penalty": [Sample(with_options(repeat_penalty=1.125))],
    "presence_penalty": [Sample(with_options(presence_penalty=1.375))],
    "frequency_penalty": [Sample(with_options(frequency_penalty=-0.375))],
    "seed": [Sample(with_options(seed=4711))],
    "stop": [Sample(with_options(stop=(MARK,)))],
    "response_format": [
        Sample(with_options(response_format="json")),
        Sample(with_options(response_format=CITY)),
    ],
    "num_ctx": [Sample(with_options(num_ctx=2222))],
    "keep_alive": [Sample(with_options(keep_alive="77s"))],
    "extra_body": [
        Sample(with_options(extra_body={"logit_bias": {"1": 2}})),
        *(
            Sample(with_options(extra_body={key: value}))
            for key, value in {
                "n": 3,
                "n_cmpl": 2,
                "modalities": ["text", "audio"],
                "audio": {"voice": "alloy"},
                "suffix": "}",
            }.items()
        ),
    ],
}
THINKING: Mapping[str, list[Sample] | str] = {
    "mode": [Sample(thinks(mode=mode), note="think") for mode in ("off", "last", "first", "deep")],
    "effort": [Sample(thinks(effort=effort), thinks()) for effort in ("low", "medium", "high")],
    "visible": [Sample(thinks(visible=False), thinks()), Sample(thinks(visible=True), thinks())],
    "depth": [Sample(thinks(depth=2), thinks())],
    "steps": [Sample(thinks(steps=2), thinks())],
    "think_tag": [Sample(thinks(think_tag=("Hell", "o")), thinks())],
    "answer_tag": [Sample(thinks(think_tag="Hell", answer_tag="o"), thinks(think_tag="Hell"))],
    "starts_open": [Sample(thinks(mode="deep", starts_open=True), thinks(mode="deep"))],
    "skip_default_prompt": [Sample(thinks(skip_default_prompt=True), thinks())],
    "prompts": [Sample(thinks(prompts={"last": "Give reasons."}), thinks())],
}
MESSAGE: Mapping[str, list[Sample] | str] = {
    "role": [Sample(chats(Message("critic", "hello")))],
    "content": [Sample(chats(Message("user", f"hello {MARK}")))],
    "name": [
        Sample(chats(Message("user", "hello", name="Ann")), note="messages.name"),
        Sample(chats(HELLO, Message("assistant", "Hi.", name="Bob"), HELLO), note="messages.name"),
    ],
    "tool_calls": [Sample(called())],
    "tool_call_id": [Sample(called(id="c77"), called())],
    "template_format": [Sample(chats(Message("user", "hello", template_format="mustache")))],
    "metadata": "tests/providers/test_to_wire.py holds that it is never sent",
}
TOOLS: Mapping[str, list[Sample] | str] = {
    "name": [Sample(offers(name="watch"), offers())],
    "description": [Sample(offers(description=MARK), offers())],
    "parameters": [Sample(offers(parameters={"type": "object", "properties": {}}), offers())],
    "strict": [Sample(offers(strict=True), offers(), note="tools.strict")],
}
CALLS: Mapping[str, list[Sample] | str] = {
    "id": [Sample(called(id="c77"), called())],
    "name": [Sample(called(name="watch"), called())],
    "args": [Sample(called(args={"city": "Rome"}), called())],
    "raw_args": "what a model wrote; `args` is what it came to",
    "extra": "keys of the server that made the call, which go back to it alone",
}
BLOCKS: Mapping[type, list[Sample] | str] = {
    TextContent: [Sample(shows(TextContent(MARK)))],
    ImageContent: [
        Sample(shows(ImageContent(data=b"\x89PNG\r\n"))),
        Sample(shows(ImageContent(url="https://x/y.png"))),
        Sample(chats(Message("system", [ImageContent(data=b"\x89PNG\r\n")]), HELLO)),
    ],
    AudioContent: [
        Sample(shows(AudioContent(data=b"RIFF"))),
        Sample(shows(AudioContent(url="https://x/y.wav"))),
    ],
    VideoContent: [Sample(shows(VideoContent(data=b"mp4")))],
    DocumentContent: [
        Sample(shows(DocumentContent(data=b"%PDF"))),
        Sample(shows(DocumentContent(url="https://x/y.pdf"))),
    ],
    EmbeddingContent: [Sample(shows(EmbeddingContent((0.5,))))],
    UnknownContent: [Sample(shows(UnknownContent("hologram", {"x": 1})))],
    ThinkingContent: "models are trained without earlier reasoning; a signer gets its own back",
}
SAMPLES: Mapping[type, Mapping[str, list[Sample] | str]] = {
    Request: REQUEST,
    GenerationOptions: OPTIONS,
    ThinkingConfig: THINKING,
    Message: MESSAGE,
    ToolSchema: TOOLS,
    ToolCall: CALLS,
}
"""A text in place of samples tells why a field is nothing to ask a server for."""


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
def test_every_field_of_the_vocabulary_has_a_sample(kind: Any) -> None:
    assert set(SAMPLES[kind]) == {field.name for field in fields(kind)}


def test_every_kind_of_block_has_a_sample() -> None:
    assert set(BLOCKS) == set(get_args(Block))


@dataclass
class Asked:
    """An adapter, and how to tell what came of its requests."""

    provider: ProviderAdapter
    servers: tuple[Server, ...]
    acted: Callable[[], list[object]] = list
    model: str = "tiny"
    """One that thinks, where the server asks for that."""

    async def outcome(self, request: Request) -> "Outcome":
        """Ask, and give what was sent, said and answered."""
        before = [len(server.received) for server in self.servers]
        found = Outcome()
        request = replace(request, model=request.model.replace("tiny", self.model))
        async with self.provider.chat_stream(request) as events:
            async for event in events:
                match event:
                    case LeftOut(field=name):
                        found.left_out.add(name)
                    case ErrorEvent(error=error):
                        found.error = error
                    case TextDelta(delta=text) | ThinkingDelta(delta=text):
                        kind = type(event).__name__
                        found.refusals[kind] = found.refusals.get(kind, "") + text
                    case _:
                        pass
        for server, old in zip(self.servers, before, strict=True):
            for received in server.received[old:]:
                if received.path.endswith(CHATS):
                    body = dict(received.json())
                    body.pop("genkey", None)  # which is new each time
                    found.bodies.append(json.dumps(body, sort_keys=True))
        found.acted = self.acted()
        return found


class Outcome:
    """What came of one request."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.refusals: dict[str, str] = {}
        self.left_out: set[str] = set()
        self.acted: list[object] = []
        self.error: AIError | None = None

    def fate(self, name: str, other: "Outcome") -> str:
        """Tell what became of a field, given the outcome without it."""
        if self.error is not None and not self.bodies:
            return "refused" if self.error.code in REFUSALS else f"error {self.error.code}"
        if self.bodies != other.bodies:
            return "sent"
        if (self.acted, self.refusals) != (other.acted, other.refusals):
            return "acted on"
        return "left out" if name in self.left_out else "ignored"


class StubEngine:
    """An engine that is a fake server."""

    crash = None
    ready_at = 0.0
    replaced = None
    has_processed_prompt = False
    state_name = None
    read_chat = None
    leases = 1

    def __init__(self, plan: Any, url: str) -> None:
        self.plan, self.url, self.key = plan, url, "k"
        self.idle_unload_s: float | None = None
        self.exited = anyio.Event()


class StubSupervisor:
    """Gives the same engine for every plan, and remembers what it was asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine: StubEngine | None = None
        self.plan: Any = None

    @asynccontextmanager
    async def lease(self, plan: Any, responds: Any = None) -> AsyncIterator[StubEngine]:
        self.plan = plan
        self.engine = self.engine or StubEngine(plan, self.url)
        yield self.engine

    def check_soon(self, engine: StubEngine, responds: Any) -> None:
        """Take no notice: this engine is always there."""

    def acted(self) -> list[object]:
        if self.engine is None or self.plan is None:
            return []
        return [self.plan.context, self.engine.idle_unload_s]


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[Asked]:
    for name in ("tiny", f"tiny-{MARK}"):
        (folder / f"{name}.gguf").write_bytes(scripted_bytes())
    async with serve(FakeLlamaCpp()) as server:
        supervisor = StubSupervisor(server.url)
        library: Any = FolderLibrary([folder])
        stub: Any = supervisor
        provider = EmbeddedProvider(library, supervisor=stub, is_installed=lambda: True)
        yield Asked(provider, (server,), supervisor.acted)
        await provider._drop_adapters()


@asynccontextmanager
async def remote(name: str) -> AsyncIterator[Asked]:
    async with serve(REMOTES[name].make()) as server:
        provider = create_provider(REMOTES[name].spec(server.url))
        yield Asked(provider, (server,), model=MODELS.get(name, "tiny"))
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


@asynccontextmanager
async def pool(name: str) -> AsyncIterator[Asked]:
    handler: Handler = REMOTES[name].make()
    async with serve(handler) as one, serve(handler) as other:
        spec = REMOTES[name].spec("", base_urls=(one.url, other.url))
        provider = create_provider(spec)
        yield Asked(provider, (one, other), model=MODELS.get(name, "tiny"))
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


ADAPTERS = [
    *REMOTES,
    "pool of ollama",
    "pool of openai-compatible",
    "pool of anthropic",
    "embedded",
]


def adapter(name: str, folder: Path) -> AbstractAsyncContextManager[Asked]:
    """Return what opens one of the adapters."""
    if name == "embedded":
        return embedded(folder)
    if name.startswith("pool of "):
        return pool(name.removeprefix("pool of "))
    return remote(name)


@pytest.fixture(params=ADAPTERS)
async def asked(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Asked]:
    async with adapter(request.param, tmp_path) as ready:
        yield ready


def samples() -> Iterator[tuple[str, Sample]]:
    for kind, named in SAMPLES.items():
        for name, found in named.items():
            for number, sample in enumerate(() if isinstance(found, str) else found):
                yield f"{kind.__name__}.{name} {number}", sample
    for block, found in BLOCKS.items():
        for number, sample in enumerate(() if isinstance(found, str) else found):
            yield f"{block.__name__} {number}", sample


@pytest.mark.one_in(3)
async def test_nothing_that_is_asked_for_is_ignored(asked: Asked) -> None:
    fates: dict[str, str] = {}
    known: dict[str, Outcome] = {}
    for name, sample in samples():
        other = known.get(repr(sample.without)) or await asked.outcome(sample.without)
        known[repr(sample.without)] = other
        assert other.bodies, f"{name}: {other.error}"
        without = sample.note or name.partition(".")[2].partition(" ")[0]
        fates[name] = (await asked.outcome(sample.asked)).fate(without, other)
    lost = {k: v for k, v in fates.items() if v not in ("sent", "acted on", "refused", "left out")}
    assert lost == {}
    assert {"sent", "refused"} <= set(fates.values())


async def test_a_word_that_the_vocabulary_does_not_have_is_refused(asked: Asked) -> None:
    for request, says in (
        (asks(tools=[TOOL], tool_choice="any"), "choice of tools 'any'"),
        (asks(should_think="always"), "thinking mode 'always'"),
        (thinks(mode="always"), "thinking mode 'always'"),
        (thinks(effort="ultra"), "effort of thinking 'ultra'"),
    ):
        outcome = await asked.outcome(request)
        assert outcome.bodies == []
        assert outcome.error is not None
        assert outcome.error.code == ErrorCode.BAD_REQUEST
        assert says in outcome.error.message
