"""The open chat, saved or not, in the formats of an export."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.config.new_file import NameTaken
from ollm_tui.exchange.formats import FORMATS
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.runtime.exports import ChatExports
from ollm_tui.store.conversations import ConversationStore, open_store


@dataclass
class Saving:
    journal: Any = None
    problem: AIError | None = None


@dataclass
class Client:
    conversation: Conversation
    saving: Saving = field(default_factory=Saving)


async def saved(store: ConversationStore, *texts: str) -> Any:
    conversation = Conversation(model="local://tiny")
    client = Client(conversation, Saving(store.journal(conversation)))
    for text in texts:
        conversation.messages.append(Message("user", text))
        await client.saving.journal.begin(conversation.messages[-1])
    return client


async def test_a_saved_chat_has_all_its_branches_and_the_open_one(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        client = await saved(store, "one", "two")
        client.saving.journal.rewind(1)
        await client.saving.journal.begin(Message("user", "three"))
        exports = ChatExports(store)
        data = json.loads(await exports.text(client, FORMATS["json"]))
        assert len(data["messages"]) == 3
        text = await exports.text(client, FORMATS["md"])
        assert ("three" in text, "two" in text) == (True, False)


async def test_what_could_not_be_saved_is_exported_all_the_same(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        client = await saved(store, "one")
        client.conversation.messages.append(Message("user", "two"))
        client.saving.problem = AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full.")
        text = await ChatExports(store).text(client, FORMATS["md"])
        assert ("one" in text, "two" in text) == (True, True)
        await client.saving.journal.begin(client.conversation.messages[-1])  # saved after all
        text = await ChatExports(store).text(client, FORMATS["json"])
        assert client.saving.journal.conversation_id in text


async def test_a_chat_that_is_not_saved_can_be_exported(tmp_path: Path) -> None:
    conversation = Conversation(model="local://tiny", system_prompt="Be brief.")
    client: Any = Client(conversation)
    exports = ChatExports(None)
    with pytest.raises(AIError, match="This chat is empty"):
        await exports.text(client, FORMATS["md"])
    conversation.messages += [
        Message("user", "Why?"),
        Message("assistant", "Beca", metadata={"ended": "stopped"}),
    ]
    text = await exports.text(client, FORMATS["md"])
    assert text.startswith("# Why?\n\n- model: `local://tiny`\n")
    assert "## local://tiny\n\nBeca\n\n*This answer was stopped.*" in text


async def test_a_file_is_named_by_the_title_and_never_replaced_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    client: Any = Client(Conversation(own_title="My cats", messages=[Message("user", "x")]))
    exports = ChatExports(None)
    assert await exports.write(client, FORMATS["html"], None) == Path("My cats.html")
    assert await exports.write(client, FORMATS["html"], None) == Path("My cats 2.html")
    with pytest.raises(NameTaken):
        await exports.write(client, FORMATS["md"], Path("My cats.html"))
    assert (folder / "My cats.html").read_text().startswith("<!DOCTYPE")
    await exports.write(client, FORMATS["md"], Path("My cats.html"), replaces=True)
    assert (folder / "My cats.html").read_text().startswith("# My cats")
