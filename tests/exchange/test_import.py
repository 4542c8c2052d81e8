"""Chats of other programs become chats of this one, once."""

import copy
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.exchange import json_items, reading
from ollm_tui.exchange.document import document_pieces
from ollm_tui.exchange.foreign import Origin
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.json_items import Problem, json_chats
from ollm_tui.exchange.markdown import markdown_pieces
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import COMPACTION, SUMMARY, Message, is_compaction
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings
from tests.exchange import samples
from tests.store.test_records import TREE, chat
from tests.support.strategies import JSON


def one_chat(path: Path) -> ChatRecord:
    (record,) = ImportFile(path).chats()
    assert isinstance(record, ChatRecord)
    return record


def shape(record: ChatRecord) -> list[tuple[str, str]]:
    return [(one.message.role, one.message.text) for one in record.branch().messages]


async def imported(store: ConversationStore, *paths: Path) -> ImportResult:
    result = ImportResult()
    await import_files(paths, store.records, lambda *_: None, result)
    return result


def test_chatgpt(tmp_path: Path) -> None:
    record = one_chat(samples.written(tmp_path / "c.json", [samples.chatgpt()]))
    assert (record.title, record.created_ms, record.updated_ms) == (
        "A branch", 1704067200000, 1704067500250,
    )  # fmt: skip
    assert record.settings.model == "gpt-5"
    messages = [one.message for one in record.branch().messages]
    assert [(m.role, m.text) for m in messages] == [
        ("user", "What is this?"),
        ("assistant", ""),
        ("tool", "cats found"),
        ("assistant", "A tiger."),
        ("user", "Sure?"),
    ]
    assert messages[0].content[0] == ImageContent(name="file-service://file-a")
    assert messages[1].content == (ThinkingContent("S\n\nC"),)
    (call,) = messages[1].tool_calls
    assert (call.name, call.args) == ("web.search", {"q": "cats"})
    assert (messages[2].tool_call_id, messages[2].name) == (call.id, "web.search")
    assert [one.message.text for one in record.messages if one.message.role == "assistant"] == [
        "", "A cat.", "A tiger.",
    ]  # fmt: skip
    assert record.messages[0].message.metadata["source"] == {"app": "chatgpt", "id": "q"}


def test_chatgpt_in_its_archive_is_the_same(tmp_path: Path) -> None:
    alone = one_chat(samples.written(tmp_path / "c.json", [samples.chatgpt()]))
    assert one_chat(samples.zipped(tmp_path / "c.zip", [samples.chatgpt()])) == alone


def test_open_webui(tmp_path: Path) -> None:
    record = one_chat(samples.written(tmp_path / "w.json", [samples.open_webui()]))
    question, answer, failed = record.messages
    assert question.message.content == (
        ImageContent(data=samples.PIXEL, mime_type="image/gif"),
        UnknownContent("file", {"name": "notes.txt"}),
        TextContent("1 < 2?"),
    )
    assert answer.message.content == (ThinkingContent("Is 1 < 2?\nYes."), TextContent("Yes."))
    assert (answer.model, failed.model, failed.state) == ("qwen3", "llama3", "failed")
    assert failed.message.text == "No memory."
    assert record.leaf_id == answer.id
    assert record.settings.system_prompt == "Be exact."


def test_open_webui_of_an_older_version_has_a_list(tmp_path: Path) -> None:
    old = {"chat": {"messages": [{"role": "user", "content": "a"}, {"role": "x", "content": "b"}]}}
    record = one_chat(samples.written(tmp_path / "w.json", [old]))
    assert shape(record) == [("user", "a"), ("x", "b")]


def test_lm_studio(tmp_path: Path) -> None:
    record = one_chat(samples.written(tmp_path / "c.json", samples.lm_studio()))
    assert shape(record) == [
        ("user", "When?"), ("assistant", ""), ("tool", "12:00"), ("assistant", "Noon."),
    ]  # fmt: skip
    first = record.branch().messages[1].message
    assert first.content == (ThinkingContent("Look."),)
    assert (first.tool_calls[0].args, first.tool_calls[0].id) == ({"zone": "UTC"}, "7")
    assert record.branch().messages[2].message.tool_call_id == "7"
    assert [one.message.text for one in record.messages][-1] == "Late."
    assert record.messages[-1].parent_id == record.messages[0].id
    assert (record.settings.model, record.settings.system_prompt) == ("qwen/qwen3-8b", "Be brief.")


def test_parllama(tmp_path: Path) -> None:
    session = samples.parllama()
    record = one_chat(samples.written(tmp_path / "p.json", session))
    assert shape(record) == [("user", "Hi"), ("assistant", "Fly")]
    assert record.messages[1].message.content[0] == ThinkingContent("Sky?")
    assert record.settings.system_prompt == "Rhyme."
    assert record.settings.options.temperature == 0.5
    session["llm_config"] = json.dumps(session["llm_config"])
    assert one_chat(samples.written(tmp_path / "p.json", session)).settings == record.settings


def test_oterm(tmp_path: Path) -> None:
    record = one_chat(samples.oterm(tmp_path / "store.db"))
    assert shape(record) == [("user", "Meow?"), ("assistant", "Purr.")]
    assert record.messages[0].message.content[0] == ImageContent(data=samples.PIXEL)
    assert (record.settings.system_prompt, record.settings.options.max_tokens) == ("Be kind.", 100)


def test_llm_of_older_versions(tmp_path: Path) -> None:
    first, alone = ImportFile(samples.llm_responses(tmp_path / "logs.db")).chats()
    assert isinstance(first, ChatRecord)
    assert isinstance(alone, ChatRecord)
    assert shape(first) == [
        ("user", "When?"), ("assistant", ""), ("tool", "12:00"), ("assistant", "Noon."),
    ]  # fmt: skip
    assert first.messages[0].message.content[0] == ImageContent(data=b"GIF", mime_type="image/gif")
    assert first.messages[1].message.tool_calls[0].args == {"zone": "UTC"}
    assert first.settings.system_prompt == "Be brief."
    assert shape(alone) == [("user", "Alone"), ("assistant", "Yes")]


def test_llm_of_newer_versions(tmp_path: Path) -> None:
    record = one_chat(samples.llm_threads(tmp_path / "logs.db"))
    assert shape(record) == [
        ("user", "Read a novel"), ("assistant", ""), ("tool", "12:00"), ("assistant", "Noon."),
    ]  # fmt: skip
    assert record.messages[1].message.tool_calls[0].id == "t1"
    assert record.messages[2].message.tool_call_id == "t1"
    assert (record.messages[3].model, record.settings.system_prompt) == ("gpt-5", "Be brief.")


async def test_the_same_again_adds_nothing(tmp_path: Path) -> None:
    files = samples.all_samples(tmp_path)
    async with open_store(tmp_path / "chats.db") as store:
        first = await imported(store, *files)
        assert (first.chats, first.problems) == (9, [])
        again = await imported(store, *files)
        assert (again.chats, again.messages, again.unchanged) == (0, 0, 9)
        for summary in await store.list():
            assert (await store.load(summary.id)).messages
            await store.delete(summary.id)
        assert (await imported(store, *files)).chats == 9


async def test_what_was_added_there_is_added_here(tmp_path: Path) -> None:
    longer = samples.chatgpt()
    longer["mapping"]["z"] = samples.node("z", "q2", "assistant", "Yes.")
    longer["current_node"] = "z"
    async with open_store(tmp_path / "chats.db") as store:
        await imported(store, samples.written(tmp_path / "a.json", [samples.chatgpt()]))
        result = await imported(store, samples.written(tmp_path / "b.json", [longer]))
        assert (result.chats, result.continued, result.messages) == (0, 1, 1)
        (summary,) = await store.list()
        assert (await store.load(summary.id)).history[-1].text == "Yes."


async def test_a_chat_that_was_made_shorter_comes_back_as_any_other(tmp_path: Path) -> None:
    settings, path = ConversationSettings(), tmp_path / "own.json"
    async with open_store(tmp_path / "chats.db") as store:
        journal = store.journal(settings)
        messages = [Message("user", "Why?"), Message("assistant", "So."), Message("user", "And?")]
        for message in messages:
            message_id = await journal.begin(message)
            if message.role == "assistant":
                await journal.finish(message_id, message)
        summary = Message("user", "Because.", metadata={COMPACTION: SUMMARY})
        await journal.branch(2, [summary, messages[2]])
        record = await store.records.read(journal.conversation_id)
        assert record is not None
        path.write_text("".join(document_pieces(record)))
    markdown = "".join(markdown_pieces(record))
    assert "## Summary of the messages above\n" in markdown
    async with open_store(tmp_path / "other.db") as other:
        await imported(other, path)
        [listed] = await other.list()
        history = (await other.load(listed.id)).history
        assert [is_compaction(message) for message in history] == [False, False, True, False]
        assert len((await other.load(listed.id)).branches) == 2
        assert [one.text for one in messages_to_send(history)] == ["Because.\n\nAnd?"]


async def test_an_own_export_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text("".join(document_pieces(chat(*TREE, leaf="c1"))))
    async with open_store(tmp_path / "chats.db") as store:
        assert (await imported(store, path)).messages == 4
        assert (await imported(store, path)).unchanged == 1


def hostile_mapping(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    data = samples.chatgpt()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["mapping"]["root"].update(parent="q2"),
        lambda d: d["mapping"]["s"].update(parent="s"),
        lambda d: d["mapping"]["q"].update(parent="q2"),
        lambda d: d["mapping"]["q"].update(parent="nowhere"),
        lambda d: d["mapping"]["t"].update(parent="t"),
        lambda d: d.update(current_node="nowhere"),
        lambda d: d.update(create_time=1e308, update_time="never", title=["x"], id=None),
        lambda d: d["mapping"]["q"]["message"].update(create_time=True),
    ],
)
def test_circles_and_wrong_values_lose_no_message(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    record = one_chat(samples.written(tmp_path / "c.json", [hostile_mapping(change)]))
    texts = {one.message.text for one in record.messages}
    assert {"What is this?", "cats found", "A cat.", "A tiger.", "Sure?"} <= texts


@pytest.mark.parametrize(
    "make", [samples.chatgpt, samples.open_webui, samples.lm_studio, samples.parllama]
)
@settings(max_examples=40)
@given(chance=st.randoms(use_true_random=False), value=JSON)
def test_any_value_anywhere_is_one_sentence_at_most(
    make: Callable[[], JsonObject], chance: random.Random, value: Any
) -> None:
    data: Any = copy.deepcopy(make())
    at: Any = data
    while isinstance(at, dict | list) and at:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = chance.choice(keys)
        if chance.random() < 0.25 or not isinstance(at[key], dict | list) or not at[key]:
            at[key] = value
            break
        at = at[key]
    origin = Origin(Path("x.json"), 1)
    outcome = reading._chat(data, origin, 1)
    assert outcome is None or isinstance(outcome, ChatRecord | Problem)
    if isinstance(outcome, ChatRecord):
        assert "".join(document_pieces(outcome))


class Chunks:
    """A file that gives its bytes in pieces of any size."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.data, self.sizes = data, sizes

    def read(self, _size: int, /) -> bytes:
        count = self.sizes.pop() if self.sizes else len(self.data)
        piece, self.data = self.data[:count], self.data[count:]
        return piece


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=4),
    st.lists(st.integers(1, 9), max_size=60),
    st.booleans(),
    st.booleans(),
)
def test_any_list_is_cut_as_the_parser_reads_it(
    items: list[Any], sizes: list[int], is_ascii: bool, is_list: bool
) -> None:
    texts = [json.dumps(item, ensure_ascii=is_ascii, indent=1) for item in items]
    text = f" [{', '.join(texts)}]\n" if is_list else "\n".join(texts)
    expected: list[Any] = items
    if not items and not is_list:
        expected = [Problem("It is not JSON with chats.")]
    assert list(json_chats(Chunks(text.encode(), sizes))) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "It is not JSON with chats."),
        ("hello", "It is not JSON with chats."),
        ("[1, 2]", "It is not JSON with chats."),
        ("]", "It is not JSON with chats."),
        ("[[]]", "It is not a chat."),
        ('[{"a": ]', "It ends in the middle of a chat."),
        ('[{"a": "', "It ends in the middle of a chat."),
        ("[{]]", "It is not valid JSON."),
        ("[" + "{" * 5 + "}" * 5 + "]", "It is not valid JSON."),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "It is nested too deeply."),
        ("[" * 100_000 + "]" * 100_000, "It is nested too deeply."),
        ('{"a": ' + "9" * 5000 + "}", "It is not valid JSON."),
        ("[{},", "It ends in the middle of a chat."),
    ],
)
def test_what_is_not_json_is_one_sentence(text: str, problem: str) -> None:
    assert Problem(problem) in list(json_chats(Chunks(text.encode(), [])))


def test_a_chat_that_is_too_large_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_items, "MAX_CHAT_BYTES", 100)
    text = json.dumps([{"a": 1}, {"b": "x" * 500}, {"c": 3}])
    assert list(json_chats(Chunks(text.encode(), [30] * 30))) == [
        {"a": 1}, Problem("It is over 100 B."), {"c": 3},
    ]  # fmt: skip
    monkeypatch.setattr(json_items, "MAX_CONTAINERS", 3)
    (crowd,) = json_chats(Chunks(b'[{"a": [[], [], []]}]', []))
    assert isinstance(crowd, Problem)


def bomb(path: Path) -> Path:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as member,
    ):
        for _ in range(70):
            member.write(b" " * (1 << 20))
    return path


def cut(path: Path) -> Path:
    samples.zipped(path, [samples.chatgpt()])
    path.write_bytes(path.read_bytes()[:-30])
    return path


def spoiled(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([samples.chatgpt()]))
    path.write_bytes(path.read_bytes().replace(b"A tiger", b"A lion."))
    return path


def view(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE chat (id, model);"
            "CREATE VIEW message (id, chat_id, author, text) AS WITH RECURSIVE n(i) AS (SELECT 1"
            " UNION ALL SELECT i + 1 FROM n) SELECT i, 1, 'user', 'x' FROM n;"
        )
    return path


def damaged(path: Path) -> Path:
    samples.oterm(path)
    content = path.read_bytes()
    path.write_bytes(content[:2048] + b"\xff" * (len(content) - 2048))
    return path


def other(path: Path) -> Path:
    return samples.zipped(path, [], "../../etc/passwd")


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def text_file(path: Path) -> Path:
    return samples.written(path, [{"hello": 1}])


@pytest.mark.parametrize("make", [bomb, cut, spoiled, view, damaged, other, folder, text_file])
async def test_a_hostile_file_is_one_sentence_and_loses_nothing(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    good = samples.written(tmp_path / "good.json", [samples.chatgpt()])
    async with open_store(tmp_path / "chats.db") as store:
        result = await imported(store, make(tmp_path / "hostile"), tmp_path / "missing", good)
        assert [path.name for path, _ in result.problems][-1] == "missing"
        assert len(result.problems) == 2
        assert all(text.endswith(".") for _, text in result.problems)
        assert len(await store.list()) == 1


async def test_a_stopped_import_is_counted_and_can_be_repeated(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(_file: ImportFile, _result: ImportResult) -> None:
        raise Stop

    many = [samples.chatgpt(f"conv-{n}") for n in range(200)]
    path = samples.written(tmp_path / "c.json", many)
    async with open_store(tmp_path / "chats.db") as store:
        result = ImportResult()
        with pytest.raises(Stop):
            await import_files([path], store.records, stop, result)
        assert 0 < result.chats < 200
        assert len(await store.list(limit=1000)) == result.chats
        rest = await imported(store, path)
        assert (rest.chats, rest.unchanged) == (200 - result.chats, result.chats)


def test_a_message_of_another_role_is_kept(tmp_path: Path) -> None:
    data = samples.chatgpt()
    data["mapping"]["q"]["message"]["author"] = "odd"
    record = one_chat(samples.written(tmp_path / "c.json", [data]))
    assert isinstance(record.messages[0].message, Message)
    assert record.messages[0].message.role == "unknown"
