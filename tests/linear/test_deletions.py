"""Chats deleted and restored in lines, with the rules of the screen."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ollm_tui.linear.branches import Branches
from ollm_tui.linear.saved_chats import SavedChats
from ollm_tui.runtime.saved.chats import SavedChats as ChatsOfStore
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.linear.stage import heard_chat
from tests.store.rig import save_chat


def opened(store: ConversationStore, chat_id: str | None, *typed: str | None) -> Any:
    """Return a chat in lines with this chat open, and some keys that will be pressed."""
    chat = heard_chat(*typed, saved=ChatsOfStore(store), chat_id=lambda _: chat_id)
    chat.session.client = SimpleNamespace(conversation=SimpleNamespace(messages=[chat_id]))
    return chat


async def test_a_deleted_chat_is_listed_and_restored_but_the_open_one_stays(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        first, second = await save_chat(store, "sky"), await save_chat(store, "sea")
        chat = opened(store, second, "1", "7")
        await SavedChats(chat).list()
        assert "Error: This chat is open. Start another one, then delete it." in chat.heard
        chat = opened(store, second, "2", "7", "yes")
        await SavedChats(chat).list()
        assert chat.heard[-1] == "Deleted the chat. /chats restores it for 30 days."
        assert [one.id for one in await store.list()] == [second]
        chat = opened(store, second, "2", "1", "1")
        await SavedChats(chat).list()
        assert "2. Deleted chats" in chat.heard
        assert chat.heard[-1] == "Restored 2 messages of “sky”."
        assert len(await store.list()) == 2
        await store.deletions.delete(first)
        branches = Branches(chat, SavedChats(chat))
        await branches.undelete("")
        await branches.undelete("")
        hint = "Restored 2 messages of “sky”. /chats opens it."  # the open chat stays open
        assert chat.heard[-2:] == [hint, "No deletion to undo."]
