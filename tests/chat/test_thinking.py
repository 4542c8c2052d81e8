"""What is known of a model decides how its requests think, and what is refused before sending."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.chat.thinking import ModelThinking, Render
from ollm_tui.models.thinking import ThinkingSupport, thinking_refusal
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import StreamingFormat
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)
from ollm_tui.protocol.request import (
    Request,
    ShouldThink,
    ThinkingConfig,
    ThinkingPlan,
    ThinkingSwitch,
)
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import ResolvedModel, Router
from tests.support.providers import ScriptedProvider

TEXT = frozenset({"text"})
HYBRID = ThinkingSupport(
    modes=frozenset({"deep", "off"}),
    default="deep",
    efforts=(),
    think_tag=("[T]", "[/T]"),
    switch=ThinkingSwitch(variable="enable_thinking"),
)
ALWAYS = ThinkingSupport(modes=frozenset({"deep"}), default="deep", efforts=())
TAUGHT = ThinkingSupport(
    modes=frozenset({"first", "last", "off"}),
    default="first",
    think_tag=("<t>", "</t>"),
    thinks_by_itself=False,
    is_declared_by_user=True,
)


@dataclass
class Asked:
    """A chat that was asked once."""

    events: list[chat_events.ChatEvent]
    requests: list[Request]

    @property
    def end(self) -> chat_events.ChatEvent:
        return self.events[-1]

    @property
    def plan(self) -> ThinkingPlan:
        assert self.requests[0].thinking is not None
        return self.requests[0].thinking


async def ask(
    wish: ShouldThink | None,
    *features: str,
    family: ThinkingSupport | None = None,
    options: ChatOptions | None = None,
    system_prompt: str | None = None,
    render: Render | None = None,
    script: tuple[ProviderEvent, ...] = (TextDelta("Hi."), Finish("stop")),
) -> Asked:
    """Ask a model whose list declares features, or nothing, and for which there is a family."""
    provider = ScriptedProvider(script=script)
    client, provider = await chat_with(
        wish, *features, family=family, provider=provider, render=render
    )
    client.conversation.system_prompt = system_prompt
    return await ask_again(client, provider, options)


async def chat_with(
    wish: ShouldThink | None,
    *features: str,
    provider: ScriptedProvider | None = None,
    family: ThinkingSupport | None = None,
    render: Render | None = None,
    opens: bool = False,
) -> tuple[ChatClient, ScriptedProvider]:
    """Return a chat with such a model, and its provider."""
    capability = ModelCapability(TEXT, TEXT, frozenset(features)) if features else None
    provider = provider or ScriptedProvider(script=(TextDelta("Hi."), Finish("stop")))
    details: JsonObject = {"opens_thinking": True} if opens else {}
    provider.models = [ModelInfo(name="m", capability=capability, details=details)]
    registry = ProviderRegistry()
    registry.register(provider)
    catalog = ModelCatalog(registry)
    await catalog.refresh()
    thinking = ModelThinking(lambda _ref, _info: family, render)
    parts = ChatParts(router=Router(registry, catalog), thinking=thinking)
    return ChatClient(parts, Conversation(model="scripted://m", should_think=wish)), provider


async def ask_again(
    client: ChatClient, provider: ScriptedProvider, options: ChatOptions | None = None
) -> Asked:
    async with client.chat("hi", options) as events:
        received = [event async for event in events]
    requests, provider.requests = provider.requests, []
    return Asked(received, requests)


@dataclass
class UnswitchedProvider(ScriptedProvider):
    """Refuses every wish for thinking."""

    streaming_format: StreamingFormat = "sse"
    refusal: AIError | None = None

    async def _events(self, request: Request) -> AsyncIterator[ProviderEvent]:
        is_refused = request.should_think is not None and self.refusal is not None
        yield ErrorEvent(self.refusal) if is_refused and self.refusal else TextDelta("Hi.")
        if not is_refused:
            yield Finish("stop")


@pytest.mark.parametrize(
    ("wish", "is_on", "effort"),
    [
        (None, None, None),
        (True, True, None),
        (False, False, None),
        ("off", False, None),
        ("deep", True, None),
        (ThinkingConfig(effort="high"), True, "high"),
    ],
)
async def test_a_model_that_thinks_takes_on_off_and_levels(
    wish: ShouldThink | None, is_on: bool | None, effort: str | None
) -> None:
    asked = await ask(wish, "stream", "thinking")
    assert asked.end == chat_events.Finish(reason="stop")
    assert asked.requests[0].should_think == wish
    assert (asked.plan.is_on, asked.plan.effort) == (is_on, effort)


@pytest.mark.parametrize("wish", ["first", "last"])
async def test_a_mode_it_does_not_declare_is_refused_with_those_it_knows(
    wish: ShouldThink,
) -> None:
    asked = await ask(None, "stream", "thinking", options=ChatOptions(should_think=wish))
    assert isinstance(asked.end, chat_events.ErrorEvent)
    assert asked.end.error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert "off, on, deep, low" in str(asked.end.error)
    assert asked.requests == []


async def test_a_model_that_does_not_think_takes_off_only() -> None:
    for family in (None, HYBRID):
        asked = await ask(None, "stream", family=family, options=ChatOptions(should_think=True))
        assert isinstance(asked.end, chat_events.ErrorEvent)
        assert "does not think" in asked.end.error.message
        assert asked.requests == []
    assert (await ask(False, "stream")).end == chat_events.Finish(reason="stop")


@pytest.mark.parametrize(
    ("wish", "family", "why", "word"),
    [
        (False, ALWAYS, "This model always thinks: it cannot be switched off.", "off"),
        (True, None, "This model does not think.", "on"),
        (ThinkingConfig(effort="low"), None, "This model does not think.", "low"),
        ("first", ALWAYS, "This model does not know the thinking mode 'first'.", "first"),
    ],
)
async def test_a_wish_of_the_settings_that_a_model_cannot_fulfil_is_noted_once_and_left_out(
    wish: ShouldThink, family: ThinkingSupport | None, why: str, word: str
) -> None:
    features = ("stream", "thinking") if family else ("stream",)
    client, provider = await chat_with(wish, *features, family=family)
    first, second = [await ask_again(client, provider) for _ in range(2)]
    for asked in (first, second):
        assert asked.end == chat_events.Finish(reason="stop")
        assert asked.requests[-1].should_think is None
        assert asked.plan.is_on is None
    notes = [event for event in first.events if isinstance(event, chat_events.Retrying)]
    assert [(note.why, note.instead) for note in notes] == [
        (why, f'`thinking = "{word}"` has no effect.')
    ]
    assert not any(isinstance(event, chat_events.Retrying) for event in second.events)


async def test_a_wish_of_the_settings_that_only_the_server_refuses_is_left_out_too() -> None:
    refusal = thinking_refusal("This server has no way to switch off the thinking.", "Leave it.")
    client, provider = await chat_with("off", provider=UnswitchedProvider(refusal=refusal))
    asked = await ask_again(client, provider)
    assert asked.end == chat_events.Finish(reason="stop")
    assert [request.should_think for request in asked.requests] == ["off", None]
    refused = await ask_again(client, provider, ChatOptions(should_think="off"))
    assert isinstance(refused.end, chat_events.ErrorEvent)
    assert refused.end.error == refusal


async def test_of_a_model_nothing_is_known_about_the_provider_decides() -> None:
    asked = await ask("deep")
    assert asked.end == chat_events.Finish(reason="stop")
    assert (asked.requests[0].should_think, asked.requests[0].thinking) == ("deep", None)


async def test_tags_and_switch_are_those_of_the_family_and_the_mode_that_of_the_request() -> None:
    for wish, is_on, mode in ((None, None, "deep"), (False, False, "off"), (True, True, "deep")):
        for features in ((), ("stream", "thinking")):
            plan = (await ask(wish, *features, family=HYBRID)).plan
            assert (plan.is_on, plan.mode) == (is_on, mode)
            assert (plan.think_tag, plan.switch) == (HYBRID.think_tag, HYBRID.switch)
    config = ThinkingConfig(mode="deep", think_tag=("<x>", "</x>"))
    assert (await ask(config, family=HYBRID)).plan.think_tag == ("[T]", "[/T]")
    over = await ask(True, family=HYBRID, options=ChatOptions(should_think="off"))
    assert over.plan.is_on is False


async def test_a_level_that_the_model_lacks_counts_as_on_and_is_mentioned() -> None:
    asked = await ask(ThinkingConfig(effort="low"), family=HYBRID)
    note = asked.events[0]
    assert isinstance(note, chat_events.Retrying)
    assert note.why == "This model has no level low of thinking."
    assert note.instead == "The answer was requested without `think.level`."
    assert (asked.plan.is_on, asked.plan.effort) == (True, None)


async def test_a_model_that_does_not_think_by_itself_is_told_how_and_only_when_it_is_to() -> None:
    last = await ask("last", "stream", family=TAUGHT, system_prompt="Be kind.")
    prompt = last.requests[0].system_prompt
    assert prompt == (
        "Be kind.\n\nWrite your answer first. After it, explain how you came to it. "
        "Write the explanation between <t> and </t>."
    )
    assert (last.plan.mode, last.plan.is_on) == ("last", None)
    for wish in (None, True, "first"):
        prompt = (await ask(wish, "stream", family=TAUGHT)).requests[0].system_prompt
        assert prompt is not None
        assert prompt.startswith("Think before you answer. Write your thinking between <t> and")
    assert (await ask(False, "stream", family=TAUGHT)).requests[0].system_prompt is None
    silent = replace(TAUGHT, skip_default_prompt=True)
    assert (await ask("last", family=silent)).requests[0].system_prompt is None
    native = await ask("deep", family=HYBRID)
    assert native.requests[0].system_prompt is None


LAST = (
    "R.\n\nSay the steps after it."
    "\nGo at most 1 levels deep in your thinking.\nThink in at most 2 steps."
)


async def test_limits_and_prompts_of_model_and_request_are_said() -> None:
    limited = ThinkingConfig(mode="deep", depth=2, steps=3)
    said = (await ask(limited, family=HYBRID)).requests[0].system_prompt
    assert said == "Go at most 2 levels deep in your thinking.\nThink in at most 3 steps."
    assert (await ask(limited)).requests[0].system_prompt == said
    own = replace(
        TAUGHT,
        steps=4,
        prompts={
            "first": "Plan {steps} steps in {start}.",
            "last": "Say the steps after it.",
            "role": "R.",
        },
    )
    wishes: tuple[tuple[ShouldThink, str | None], ...] = (
        ("first", "R.\n\nPlan 4 steps in <t>."),
        (ThinkingConfig(mode="first", steps=9), "R.\n\nPlan 9 steps in <t>."),
        (ThinkingConfig(mode="last", steps=2, depth=1), LAST),
        ("off", None),
    )
    for wish, prompt in wishes:
        assert (await ask(wish, family=own)).requests[0].system_prompt == prompt
    asked = await ask(
        ThinkingConfig(mode="last", prompts={"last": "Why?"}, think_tag=("<a>", "</a>"))
    )
    assert (asked.requests[0].system_prompt, asked.plan.is_on) == ("Why?", None)
    assert asked.plan.think_tag == ("<a>", "</a>")


async def test_a_template_of_instructions_is_rendered_and_its_fault_is_the_end() -> None:
    seen: list[tuple[str, object]] = []

    async def render(template: str, variables: JsonMapping) -> str:
        seen.append((template, dict(variables)))
        if "bad" in template:
            raise AIError(ErrorCode.BAD_REQUEST, "The chat template was refused: bad.")
        return "Rendered."

    own = replace(TAUGHT, prompts={"first": "{{ steps }}"}, prompt_format="jinja2", steps=2)
    asked = await ask("first", family=own, render=render)
    assert asked.requests[0].system_prompt == "Rendered."
    variables = {"start": "<t>", "end": "</t>", "steps": 2, "depth": "", "mode": "first"}
    assert seen == [("{{ steps }}", variables)]
    bad = await ask("first", family=replace(own, prompts={"first": "{{ bad"}), render=render)
    assert isinstance(bad.end, chat_events.ErrorEvent)
    assert (bad.end.error.message, bad.requests) == ("The chat template was refused: bad.", [])


async def test_hidden_thinking_is_kept_and_marked() -> None:
    script = (ThinkingDelta("Hm."), TextDelta("Yes."), Finish("stop"))
    for model, wish, hidden in (
        (replace(HYBRID, visible=False), None, True),
        (replace(HYBRID, visible=False), ThinkingConfig(visible=True), None),
        (HYBRID, ThinkingConfig(visible=False), True),
        (None, ThinkingConfig(visible=False), True),
        (HYBRID, True, None),
    ):
        asked = await ask(wish, family=model, script=script)
        assert [e.hidden for e in asked.events if isinstance(e, chat_events.ThinkingDelta)] == [
            hidden
        ]


async def test_what_changes_in_families_and_beside_files_acts_from_the_next_prompt() -> None:
    families = [HYBRID, TAUGHT]
    thinking, provider = ModelThinking(lambda _ref, _info: families.pop(0)), ScriptedProvider()
    resolved = ResolvedModel(provider, ModelRef("scripted", "a"), ModelInfo(name="a"))
    assert thinking.known(resolved) is None
    for family in (HYBRID, TAUGHT):
        planned = await thinking.plan(True, resolved)
        assert thinking.known(resolved) == family
        known = thinking.plan_known(True, resolved).plan
        assert known == planned.plan


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (["\n\nThe answer is 4.\n\nYes."], "The answer is 4.\n\nYes."),
        (["\n", "\n", " ", " x\n", "y"], "  x\ny"),
        (["\r\n \t\n", "x"], "x"),
        (["x", "\n\n", "y"], "x\n\ny"),
        (["\n", " \n"], ""),
    ],
)
async def test_the_answer_after_the_reasoning_begins_with_its_first_line(
    pieces: list[str], answer: str
) -> None:
    thought = [ThinkingDelta("Two and"), ThinkingDelta(" two.\n")]
    provider = ScriptedProvider(script=(*thought, *map(TextDelta, pieces), Finish("stop")))
    registry = ProviderRegistry()
    registry.register(provider)
    conversation = Conversation(model="scripted://m")
    client = ChatClient(ChatParts(router=Router(registry, ModelCatalog(registry))), conversation)
    async with client.chat("hi") as events:
        received = [event async for event in events]
    deltas = [event.delta for event in received if isinstance(event, chat_events.TextDelta)]
    assert "".join(deltas) == answer == conversation.messages[-1].text
    assert all(deltas)
    thinking = [event.delta for event in received if isinstance(event, chat_events.ThinkingDelta)]
    assert "".join(thinking) == "Two and two.\n"


async def test_a_template_that_opens_the_thinking_makes_the_answer_begin_inside_it() -> None:
    for features, family, wish, is_open in (
        (("stream", "thinking"), None, None, True),
        (("stream", "thinking"), HYBRID, None, True),
        (("stream", "thinking"), HYBRID, False, False),
        (("stream",), None, None, True),
        (("stream",), TAUGHT, None, False),
        ((), None, None, True),
    ):
        client, provider = await chat_with(wish, *features, family=family, opens=True)
        plan = (await ask_again(client, provider)).plan
        assert (plan.starts_open and plan.mode != "off") is is_open, (features, family, wish)
    client, provider = await chat_with("off", "stream", opens=True)
    note = (await ask_again(client, provider)).events[0]
    assert isinstance(note, chat_events.Retrying)
    assert note.why == "This model always thinks: it cannot be switched off."
