"""The settings of a chat are saved with its messages."""

from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.chat.conversation import Conversation, SystemTemplate
from ollm_tui.protocol.request import GenerationOptions, ThinkingConfig
from ollm_tui.store.conversations import open_store
from ollm_tui.store.options_json import settings_of
from ollm_tui.store.rows import ConversationSettings
from tests.store.rig import (
    SETTINGS,
    asked,
    change,
    open_parts,
    rows,
    save_chat,
)


async def test_settings_come_back_as_they_were_with_the_newest_message(path: Path) -> None:
    options = GenerationOptions(
        temperature=0.5,
        max_tokens=7,
        top_p=0.9,
        top_k=4,
        min_p=0.1,
        repeat_penalty=1.1,
        seed=3,
        stop=("a", "b"),
        response_format={"type": "object"},
        num_ctx=2048,
        keep_alive="5m",
        extra_body={"mirostat": 2},
    )
    conversation = Conversation(
        model="vllm://m",
        system_prompt="Be\0 brief",
        system_template=SystemTemplate("Be\0 brief", "hf"),
        options=options,
        tools=("f",),
    )
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        conversation.model = "bare"
        conversation.should_think = ThinkingConfig(
            mode="deep", effort="high", visible=False, depth=2
        )
        await journal.begin(asked("more"))
        found = (await store.load(journal.conversation_id)).settings
    assert found == replace(
        ConversationSettings.of(conversation), model="bare", system_prompt="Be� brief"
    )
    assert rows(path, "SELECT model, provider FROM conversations") == [("bare", None)]


async def test_a_list_of_tools_that_grows_is_saved_with_the_next_message(path: Path) -> None:
    tools = ["f"]
    conversation = Conversation(model="vllm://m")
    conversation.tools = tools  # type: ignore[assignment]  # a list, which any sequence may be
    taken = ConversationSettings.of(conversation)
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        tools.append("g")
        await journal.begin(asked("more"))
        found = (await store.load(journal.conversation_id)).settings
    assert taken.tools == ("f",)
    assert found.tools == ("f", "g")


@pytest.mark.parametrize("should_think", [None, True, False, "off", "first"])
@pytest.mark.parametrize("keep_alive", [None, 5, 0.5, "1h"])
async def test_wishes_for_reasoning_and_keeping_come_back(
    path: Path, should_think: object, keep_alive: object
) -> None:
    options = GenerationOptions(keep_alive=keep_alive, response_format="json")  # type: ignore[arg-type]  # one of four
    conversation = Conversation(options=options)
    conversation.should_think = should_think  # type: ignore[assignment]  # one of five
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        found = (await store.load(journal.conversation_id)).settings
    assert found == ConversationSettings.of(conversation)


@pytest.mark.parametrize(
    ("saved", "read"),
    [
        ('{"mode": null, "effort": "high"}', ThinkingConfig(effort="high")),
        ('{"mode": "last", "effort": "low"}', ThinkingConfig(effort="low")),
        ('{"mode": "last", "visible": false}', ThinkingConfig(mode="last", visible=False)),
        ('{"mode": null, "effort": "ultra"}', None),
        ('"deep"', "deep"),
    ],
)
def test_an_effort_of_an_earlier_version_is_one_in_any_mode(saved: str, read: object) -> None:
    assert settings_of(None, None, f'{{"should_think": {saved}}}').should_think == read


@pytest.mark.parametrize(
    "options",
    [
        "not json",
        "[]",
        '{"generation": 5, "should_think": "never", "tools": 1}',
        '{"generation": {"temperature": "hot", "seed": true, "stop": 4, "extra_body": []}}',
        '{"generation": {"extra_body": {"model": "x"}}, "should_think": {"mode": 4}}',
        '{"generation": {"keep_alive": "soon"}}',
        '{"generation": {"keep_alive": true}}',
        '{"generation": {"keep_alive": NaN}}',
    ],
)
async def test_options_that_cannot_be_read_are_the_defaults(path: Path, options: str) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(database, "UPDATE conversations SET options = ?", options)
        assert (await store.load(chat_id)).settings == SETTINGS
    finally:
        await database.close()
