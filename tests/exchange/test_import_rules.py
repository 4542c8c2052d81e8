"""What an imported chat may not do when it is continued, field by field."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.chat.drawing import resumable_job, wish_of
from ollm_tui.exchange.document import document_pieces
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.protocol.request import GenerationOptions, Request, ThinkingConfig
from ollm_tui.store.conversations import open_store
from ollm_tui.store.options_json import settings_to_object
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings
from tests.exchange import samples
from tests.store.test_records import TREE, chat

TEMPLATE = "{{ cycler.__init__.__globals__ }}"
HOSTILE_SETTINGS = {
    "model": "local://tiny",
    "profile": "work",
    "system_prompt": TEMPLATE,
    "system_prompt_format": "jinja2",
    "should_think": {"mode": "deep", "visible": False, "depth": 10**9, "steps": 10**9},
    "tools": ["write_file", "*"],
    "generation": {
        "temperature": 0.5,
        "top_p": 7,
        "min_p": float("nan"),
        "seed": 42,
        "max_tokens": 0,
        "stop": ["a"],
        "num_ctx": 10**9,
        "keep_alive": -1,
        "response_format": "json",
        "extra_body": {"tools": [{"type": "web_search"}], "logit_bias": {}},
    },
}
HARMLESS_SETTINGS = ConversationSettings(
    model="local://tiny",
    system_prompt=TEMPLATE,
    options=GenerationOptions(temperature=0.5, seed=42),
)


def imported(folder: Path, document: Mapping[str, Any]) -> ChatRecord:
    (record,) = ImportFile(samples.written(folder / "chat.json", document)).chats()
    assert isinstance(record, ChatRecord)
    return record


def document() -> dict[str, Any]:
    return dict(json.loads("".join(document_pieces(chat(*TREE, leaf="c1")))))


def settings_of(folder: Path, settings: Mapping[str, Any]) -> ConversationSettings:
    data = document()
    data["chat"]["settings"] = settings
    return imported(folder, data).settings


def metadata_of(folder: Path, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    data = document()
    data["messages"][0]["message"]["metadata"] = metadata
    return imported(folder, data).messages[0].message.metadata


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("system_prompt_format", "jinja2"),
        ("profile", "work"),
        ("tools", ["write_file"]),
        ("should_think", {"mode": "first", "depth": 9}),
        ("should_think", {"visible": False, "mode": "off"}),
    ],
)
def test_a_setting_that_acts_is_dropped(tmp_path: Path, key: str, value: Any) -> None:
    assert settings_of(tmp_path, {key: value}) == ConversationSettings()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stop", ["a"]),
        ("response_format", "json"),
        ("response_format", {"type": "object"}),
        ("num_ctx", 4096),
        ("keep_alive", "5m"),
        ("extra_body", {"tools": []}),
        ("temperature", 11),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("max_tokens", 0),
        ("seed", 2**63),
    ],
)
def test_an_option_that_is_no_usual_sampling_is_dropped(
    tmp_path: Path, key: str, value: Any
) -> None:
    assert settings_of(tmp_path, {"generation": {key: value}}) == ConversationSettings()


@pytest.mark.parametrize(
    "kept",
    [
        ConversationSettings(model="ollama://qwen3:8b"),
        ConversationSettings(system_prompt="Be {{ brief }}."),
        ConversationSettings(should_think="deep"),
        ConversationSettings(should_think=False),
        ConversationSettings(should_think=ThinkingConfig(effort="low")),
        ConversationSettings(
            options=GenerationOptions(
                temperature=0.2, max_tokens=100, top_p=0.9, top_k=40, min_p=0.05,
                repeat_penalty=1.1, presence_penalty=1.5, frequency_penalty=-0.5, seed=42,
            )
        ),
    ],
)  # fmt: skip
def test_what_is_only_a_choice_of_the_chat_is_kept(
    tmp_path: Path, kept: ConversationSettings
) -> None:
    assert settings_of(tmp_path, settings_to_object(kept)) == kept


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("template_values", {"name": "x"}),
        ("drawing", {"model": "openai://gpt-image-1", "count": 100}),
        ("job", "../v1/models"),
        ("not_saved", "x"),
        ("own", 1),
        ("ended", "streaming"),
        ("ended", ["failed"]),
        ("correction", "elsewhere"),
        ("correction", 1),
        ("schema", {}),
        ("is_error", "yes"),
        ("outcome", "granted"),
        ("source", "llm"),
        ("source", {"app": "llm"}),
    ],
)
def test_metadata_that_acts_or_is_unknown_is_dropped(tmp_path: Path, key: str, value: Any) -> None:
    assert metadata_of(tmp_path, {key: value}) == {}


@pytest.mark.parametrize(
    "kept",
    [
        {"ended": "interrupted"}, {"ended": "stopped"}, {"ended": "failed"},
        {"correction": True}, {"correction": "schema"}, {"schema": "valid"},
        {"schema": "invalid"}, {"is_error": True, "outcome": "denied"},
        {"source": {"app": "llm", "id": "7"}},
    ],
)  # fmt: skip
def test_marks_of_what_a_message_is_are_kept(tmp_path: Path, kept: Mapping[str, Any]) -> None:
    assert metadata_of(tmp_path, kept) == kept


async def test_a_hostile_file_neither_renders_nor_offers_nor_draws(tmp_path: Path) -> None:
    data = document()
    data["chat"]["settings"] = HOSTILE_SETTINGS
    marks = {"drawing": {"model": "x"}, "job": "7", "ended": "interrupted", "template_values": {}}
    for one in data["messages"]:
        one["settings"] = HOSTILE_SETTINGS
        one["message"] |= {"content": TEMPLATE, "template_format": "hf", "metadata": marks}
    record = imported(tmp_path, data)
    assert [one.settings for one in record.messages] == [HARMLESS_SETTINGS] * len(record.messages)
    async with open_store(tmp_path / "chats.db") as store:
        path = samples.written(tmp_path / "hostile.json", data)
        await import_files([path], store.records, lambda *_: None, ImportResult())
        stored = await store.load("c")
    assert stored.settings == HARMLESS_SETTINGS
    assert resumable_job(stored.history) is None
    assert [wish_of(one) for one in stored.history] == [None] * 3
    assert [one.text for one in stored.history] == [TEMPLATE] * 3
    assert not Request(model="tiny", messages=stored.history).names_templates


async def test_a_hostile_file_switches_nothing_on_in_a_chat_that_is_there(tmp_path: Path) -> None:
    data = document()
    data["chat"]["settings"] = HOSTILE_SETTINGS
    later = {"id": "d", "parent": "c1", "settings": HOSTILE_SETTINGS}
    data["messages"].append(later | {"message": {"role": "user", "content": "More"}})
    data["chat"]["leaf"] = "d"
    async with open_store(tmp_path / "chats.db") as store:
        await store.records.add([chat(*TREE, leaf="c1")])
        path = samples.written(tmp_path / "hostile.json", data)
        await import_files([path], store.records, lambda *_: None, ImportResult())
        stored = await store.load("c")
    assert [one.id for one in stored.messages] == ["a", "b", "c1", "d"]
    assert stored.settings.tools == ()
    assert stored.settings.options.extra_body is None
    assert stored.settings.system_prompt_format is None
