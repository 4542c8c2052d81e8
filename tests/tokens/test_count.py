"""The counter: its sources in order, what it remembers and what it learns."""

from dataclasses import dataclass, field, replace

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsTokenCount
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tokens import estimate
from ollm_tui.tokens.count import FRAME_TOKENS, REPLY_TOKENS, TokenCount, TokenCounter
from ollm_tui.tokens.encodings import Encoding, Encodings
from tests.support.providers import ScriptedProvider
from tests.support.seeds import in_parts
from tests.tokens.strategies import estimate_request, requests

HI = Request(model="m", messages=[Message("user", "12345678")])


@dataclass
class CountingProvider(ScriptedProvider):
    """An engine that counts, wrongly or not at all as it is told."""

    tokens: int | AIError = 77
    asked: list[Request] = field(default_factory=list)

    async def count_tokens(self, request: Request) -> int:
        self.asked.append(request)
        if isinstance(self.tokens, AIError):
            raise self.tokens
        return self.tokens


@dataclass
class TextCountingProvider(ScriptedProvider):
    """A server whose tokenizer counts words; what frames a chat it does not know."""

    failure: AIError | None = None
    texts: list[str] = field(default_factory=list)

    async def count_text_tokens(self, _model: str, text: str) -> int:
        self.texts.append(text)
        if self.failure is not None:
            raise self.failure
        return len(text.split())


class NoEncodings(Encodings):
    async def encoding_for(self, model: str) -> Encoding | None:
        return None


class WordCore:
    """A tokenizer of words that notes what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode_ordinary(self, text: str) -> list[int]:
        self.texts.append(text)
        return [1] * len(text.split())


class WordEncodings(Encodings):
    """Knows a tokenizer for models whose name begins with `words`."""

    def __init__(self) -> None:
        super().__init__()
        self.cores: dict[str, WordCore] = {}

    async def encoding_for(self, model: str) -> Encoding | None:
        if not model.startswith("words"):
            return None
        core = self.cores.setdefault(model, WordCore())
        return Encoding(model, core)  # type: ignore[arg-type]  # stands in for tiktoken's


def plain() -> TokenCounter:
    return TokenCounter(NoEncodings())


# Feature: stage-02-core-provider, Property 22: Token Count Estimation
@settings(max_examples=100)
@given(requests())
def test_every_request_counts_at_least_one(request: Request) -> None:
    async def main() -> None:
        counted = await plain().count(request)
        assert isinstance(counted.tokens, int)
        assert counted.tokens >= 1
        assert (counted.source, counted.estimated) == ("estimate", True)
        assert counted.tokens == estimate_request(request) == plain().estimate(request).tokens
        words = await TokenCounter(WordEncodings()).count(
            Request(model="words", messages=request.conversation)
        )
        assert words.tokens >= 1

    anyio.run(main)


# Feature: stage-02-core-provider, Property 23: Provider Tokenizer Usage
@settings(max_examples=100)
@given(requests("gpt-4o"), st.integers(1, 10**9))
def test_a_provider_that_counts_is_believed(request: Request, tokens: int) -> None:
    async def main() -> None:
        provider = CountingProvider(tokens=tokens)
        assert isinstance(provider, SupportsTokenCount)
        counted = await plain().count(request, provider)
        assert (counted.tokens, counted.source, counted.estimated) == (tokens, "engine", False)
        assert provider.asked == [request]

    anyio.run(main)


async def test_the_tokenizer_comes_before_the_estimate() -> None:
    request = Request(
        model="words", messages=[Message("user", "one two three")], system_prompt="be brief"
    )
    counted = await TokenCounter(WordEncodings()).count(request, ScriptedProvider())
    assert (counted.tokens, counted.source, counted.estimated) == (5 + 4 + 3, "tokenizer", True)


async def test_the_real_tokenizer_counts_a_real_models_request() -> None:
    request = Request(model="gpt-4o", messages=[Message("user", "tiktoken is great!")])
    counted = await TokenCounter().count(request)
    assert (counted.tokens, counted.source) == (6 + 4 + 3, "tokenizer")


@pytest.mark.parametrize("tokens", [AIError(ErrorCode.TIMEOUT, "Too slow."), 0, -1])
async def test_an_engine_that_fails_to_count_is_replaced(tokens: int | AIError) -> None:
    provider = CountingProvider(tokens=tokens)
    counted = await plain().count(HI, provider)
    assert len(provider.asked) == 1
    assert (counted.tokens, counted.source) == (2, "estimate")
    request = Request(model="words", messages=[Message("user", "a b")])
    assert (await TokenCounter(WordEncodings()).count(request, provider)).source == "tokenizer"


async def test_a_server_that_counts_text_alone_is_asked_once_and_may_be_corrected() -> None:
    provider, counter = TextCountingProvider(), TokenCounter(NoEncodings())
    call = ToolCall(id="a", name="clock", args={"zone": "Oslo"})
    chat = [Message("user", "one two"), Message("assistant", "three", tool_calls=[call])]
    asked = Request(model="m", messages=chat, system_prompt="be brief")
    counted = await counter.count(asked, provider)
    (text,) = provider.texts
    assert {"one", "two", "three", "be", "brief", "clock"} <= set(text.split())
    assert counted.tokens == len(text.split()) + 2 * FRAME_TOKENS + REPLY_TOKENS
    assert (counted.source, counted.estimated) == ("tokenizer", True)
    counter.learn(counted, counted.tokens * 2)
    assert (await counter.count(asked, provider)).tokens > counted.tokens


async def test_a_server_that_fails_to_count_text_is_replaced() -> None:
    provider = TextCountingProvider(failure=AIError(ErrorCode.ENGINE_ERROR, "No."))
    counted = await TokenCounter(NoEncodings()).count(HI, provider)
    assert counted.source == "estimate"


async def test_thinking_counts_nothing() -> None:
    message = Message("assistant", [ThinkingContent("x" * 40), TextContent("12345678")])
    request = Request(model="m", messages=[message])
    counter = plain()
    assert (await counter.count(request)).tokens == 2
    assert counter.estimate(request).tokens == 2


async def test_a_report_corrects_the_next_count_of_that_model_only() -> None:
    counter = plain()
    long = [Message("user", "x" * 40_000)]
    first = await counter.count(Request(model="m", messages=long))
    counter.learn(first, 15_000)
    second = await counter.count(Request(model="m", messages=long))
    assert 14_000 < second.tokens <= 15_000
    assert second.uncorrected == first.tokens == 10_000
    assert counter.estimate(Request(model="m", messages=long)).tokens == second.tokens
    counter.learn(second, 15_000)
    third = await counter.count(Request(model="m", messages=long))
    assert 14_800 < third.tokens <= 15_000, "what was corrected once is not corrected again"
    assert (await counter.count(Request(model="other", messages=long))).tokens == 10_000


async def test_no_report_and_an_engines_count_teach_nothing() -> None:
    counter = plain()
    counted = await counter.count(HI)
    counter.learn(counted, None)
    exact = TokenCount(tokens=10_000, source="engine", model="m", uncorrected=10_000)
    counter.learn(exact, 80_000)
    long = Request(model="m", messages=[Message("user", "x" * 40_000)])
    assert (await counter.count(long)).tokens == 10_000


async def test_a_long_chat_is_counted_in_linear_work() -> None:
    encodings = WordEncodings()
    counter = TokenCounter(encodings)
    history: list[Message] = []
    system = "you are brief"
    for number in range(60):
        history.append(Message("user", f"question {number}"))
        counter.estimate(Request(model="words", messages=messages_to_send(history)))
        request = Request(model="words", messages=messages_to_send(history), system_prompt=system)
        counted = await counter.count(request)
        fresh = await TokenCounter(WordEncodings()).count(request)
        assert counted == fresh
        if number % 3:  # an answer that failed leaves two questions, which are sent as one
            call = ToolCall(id=str(number), name=f"look{number}", args={"n": number})
            history.append(Message("assistant", f"answer {number}", tool_calls=[call]))
            history.append(Message("tool", f"result {number}", tool_call_id=str(number)))
    texts = [text for text in encodings.cores["words"].texts if text.strip()]
    assert len(texts) == len(set(texts)), "every text was counted once"


async def test_what_is_no_longer_sent_is_forgotten() -> None:
    encodings = WordEncodings()
    counter = TokenCounter(encodings)
    one, two, three, four = (Message("user", text) for text in ("one", "two", "three", "four"))
    for messages in ([one, two], [two], [one, two], [three], [four], [one, two]):
        await counter.count(Request(model="words", messages=messages))
    texts = encodings.cores["words"].texts
    assert texts == ["one", "two", "three", "four"], "chats between which a person changes"
    await counter.count(Request(model="words", messages=[three, one]))
    await counter.count(Request(model="words", messages=[Message("user", "five")]))
    await counter.count(Request(model="words", messages=[two]))
    assert texts == ["one", "two", "three", "four", "one", "five", "two"]


async def test_another_models_tokenizer_counts_anew() -> None:
    encodings = WordEncodings()
    counter = TokenCounter(encodings)
    message = Message("user", "one two")
    for model in ("words", "words-b"):
        assert (await counter.count(Request(model=model, messages=[message]))).tokens == 9
    assert encodings.cores["words-b"].texts == ["one two"]


async def test_an_estimate_of_a_growing_chat_prices_each_piece_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    priced: list[object] = []

    def price(piece: estimate.Piece, count_text: estimate.CountText) -> int:
        priced.append(piece)
        return estimate.piece_tokens(piece, count_text)

    monkeypatch.setattr("ollm_tui.tokens.count.piece_tokens", price)
    counter, history = plain(), [Message("user", f"n {n}") for n in range(20)]
    for length in range(1, 21):
        counter.estimate(Request(model="m", messages=history[:length]))
    assert len(priced) == 20


@in_parts(4)
@settings(max_examples=25)
@given(request=requests(), tokens=st.integers(1, 10**6))
def test_sizes_are_the_whole_count_divided(part: int, request: Request, tokens: int) -> None:
    async def main() -> None:
        counted = TokenCount(tokens=tokens, source="engine", model="m", uncorrected=tokens)
        sizes = await plain().sizes(request, counted)
        assert len(sizes.messages) == len(request.conversation)
        assert sizes.fixed + sum(sizes.messages) == tokens
        assert min(sizes.fixed, *sizes.messages) >= 0

    anyio.run(main)


async def test_sizes_follow_what_each_message_has() -> None:
    request = Request(
        model="m",
        system_prompt="x" * 40,
        messages=[Message("user", "x" * 80), Message("assistant", "x" * 120)],
    )
    counter = plain()
    sizes = await counter.sizes(request, await counter.count(request))
    assert (sizes.fixed, sizes.messages) == (10, (20, 30))
    doubled = TokenCount(tokens=120, source="engine", model="m", uncorrected=120)
    assert (await counter.sizes(request, doubled)).messages == (40, 60)


async def test_sizes_are_the_tokenizers_where_there_is_one() -> None:
    counter = TokenCounter(WordEncodings())
    request = Request(model="words", messages=[Message("user", "a b"), Message("user", "c")])
    sizes = await counter.sizes(request, await counter.count(request))
    assert (sizes.fixed, sizes.messages) == (3, (6, 5))


async def test_the_sizes_of_the_parts_add_up_to_the_count() -> None:
    counter = TokenCounter(WordEncodings())
    request = replace(
        HI,
        model="words",
        system_prompt="one two three",
        messages=[
            Message("user", "a b c d e f g h"),
            Message("assistant", "i j"),
        ],
    )
    counted = await counter.count(request, ScriptedProvider())
    sizes = await counter.sizes(request, counted)
    assert sizes.fixed + sum(sizes.messages) == counted.tokens
    assert sizes.messages[0] > sizes.messages[1]


async def test_a_longer_draft_adds_to_the_count_of_the_engine() -> None:
    counter = TokenCounter(NoEncodings())
    base = await counter.count(HI, CountingProvider(tokens=500))
    longer = replace(HI, messages=[Message("user", "12345678" * 100)])
    before = counter.estimate(HI)
    assert counter.recount(HI, base, before.uncorrected) == 500
    assert counter.recount(longer, base, before.uncorrected) > 600
    assert counter.recount(HI, before, before.uncorrected) == before.tokens
