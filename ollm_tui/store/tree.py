"""The tree of a chat as it is shown, and branches that become chats: SQL and plain values."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.branches import Node, leaves, siblings, subtree
from ollm_tui.store.database import Database
from ollm_tui.store.deletions import remember_shown
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.options_json import options_to_json
from ollm_tui.store.rows import TITLE_LENGTH, column, new_id
from ollm_tui.store.search.texts import text_of
from ollm_tui.store.statements import chat_state, load_conversation

MAX_PREVIEW_CHARS: Final = 200
"""Characters of a message that the tree shows at most."""
_AT_ONCE: Final = 200
_FORK: Final = lazy_re(r" ?\(fork(?: (?P<number>[0-9]{1,6}))?\)\Z")
"""The end of the title of a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Messages that follow each other up to the next fork, or to the end."""

    message_id: str
    """The first of them."""
    end_id: str
    """The last of them."""
    level: int
    """Number of forks before it."""
    is_last: bool
    """Whether no other one begins at the same fork behind it."""
    messages: int
    """Number of its messages."""
    role: str = ""
    model: str | None = None
    created_ms: int = 0
    words: str = ""
    """The beginning of the first message."""


def stretches(nodes: Sequence[Node]) -> list[Stretch]:
    """Return the tree as lines, each fork behind the messages before it."""
    ids = {node.id for node in nodes}
    after: dict[str | None, list[Node]] = {}
    for node in nodes:
        after.setdefault(node.parent_id if node.parent_id in ids else None, []).append(node)
    starts = after.get(None, [])
    level = 1 if len(starts) > 1 else 0
    waiting = [(node, level, place == 0) for place, node in enumerate(reversed(starts))]
    lines: list[Stretch] = []
    while waiting:
        start, level, is_last = waiting.pop()
        end, count = start, 1
        while len(following := after.pop(end.id, [])) == 1:
            end, count = following[0], count + 1
        lines.append(
            Stretch(
                message_id=start.id, end_id=end.id, level=level, is_last=is_last, messages=count
            )
        )
        below = enumerate(reversed(following))
        waiting += [(node, level + 1, place == 0) for place, node in below]
    return lines


def read_tree(connection: sqlite3.Connection, conversation_id: str) -> tuple[Stretch, ...] | None:
    """Return the tree of a chat with the first words of each stretch; None without the chat."""
    state = chat_state(connection, conversation_id)
    if state is None:
        return None
    lines = stretches(state.nodes)
    facts: dict[str, tuple[str, str | None, int, str]] = {}
    for at in range(0, len(lines), _AT_ONCE):
        some = [line.message_id for line in lines[at : at + _AT_ONCE]]
        marks = ",".join("?" * len(some))
        query = f"SELECT id, role, model, created_ms, body FROM messages WHERE id IN ({marks})"
        for message_id, role, model, created_ms, body in connection.execute(query, some):
            facts[message_id] = role, model, created_ms, _beginning(body)
    return tuple(_with_facts(line, facts) for line in lines)


def _beginning(body: str) -> str:
    return " ".join(text_of(body)[: 5 * MAX_PREVIEW_CHARS].split())[:MAX_PREVIEW_CHARS]


def _with_facts(line: Stretch, facts: dict[str, tuple[str, str | None, int, str]]) -> Stretch:
    role, model, created_ms, words = facts[line.message_id]
    return replace(line, role=role, model=model, created_ms=created_ms, words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What the deletion of a message would take."""

    title: str
    messages: int
    exchanges: int
    """Questions with their answers, each version for itself; a part of one counts."""
    is_chat: bool
    """Whether nothing of the chat would be left."""


def extent_of(
    connection: sqlite3.Connection, conversation_id: str, message_id: str
) -> Extent | None:
    """Return what the deletion of a message would take; None if it does not exist."""
    state = chat_state(connection, conversation_id)
    marked = subtree(state.nodes, message_id) if state is not None else []
    if state is None or not marked:
        return None
    (questions,) = connection.execute(
        "SELECT count(*) FROM json_each(?) AS n CROSS JOIN messages AS m ON m.id = n.value"
        " WHERE m.role = 'user' AND m.id <> ?",
        (json.dumps([node.id for node in marked]), message_id),
    ).fetchone()
    return Extent(
        title=state.title,
        messages=len(marked),
        exchanges=max(1 + questions, len(leaves(marked))),
        is_chat=len(marked) == len(state.nodes),
    )


def fork(
    connection: sqlite3.Connection, conversation_id: str, message_id: str, now_ms: int
) -> str | None:
    """Copy a message and those before it to a chat of its own; return its id, None without them."""
    stored = load_conversation(connection, conversation_id, leaf_id=message_id)
    if stored is None or not stored.messages or stored.messages[-1].id != message_id:
        return None
    settings = stored.settings
    model = column(settings.model)
    fresh, ids = new_id(now_ms), {one.id: new_id(now_ms) for one in stored.messages}
    title = (column(_fork_title(connection, stored.title)) or "")[-TITLE_LENGTH:]
    connection.execute(
        "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, model, provider,"
        " system_prompt, options, leaf_id) VALUES (?, ?, 'person', ?, ?, ?, ?, ?, ?, ?)",
        (
            fresh,
            title,
            now_ms,
            now_ms,
            model,
            model.partition("://")[0] if model and "://" in model else None,
            column(settings.system_prompt),
            options_to_json(settings),
            ids[message_id],
        ),
    )
    parent = None
    for old in ids:
        connection.execute(
            "INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, writer,"
            " model, created_ms, updated_ms, settings, body) SELECT ?, ?, ?, depth, role,"
            " CASE state WHEN 'streaming' THEN 'interrupted' ELSE state END, NULL, model,"
            " created_ms, updated_ms, settings, body FROM messages WHERE id = ?",
            (ids[old], fresh, parent, old),
        )
        parent = ids[old]
    return fresh


def _fork_title(connection: sqlite3.Connection, title: str) -> str:
    """Return the title of a copy: `Sky (fork)`, then `Sky (fork 2)`, also for a copy of a copy."""
    base = _FORK.sub("", title)
    begin = f"{base} (fork".lstrip()
    rows = connection.execute(
        "SELECT title FROM conversations WHERE substr(title, 1, ?) = ?", (len(begin), begin)
    )
    forks = [match for (one,) in rows if (match := _FORK.search(one)) is not None]
    numbers = [int(match["number"] or 1) for match in forks if match.start() == len(base)]
    number = max(numbers, default=0) + 1
    return f"{begin})" if number == 1 else f"{begin} {number})"


class Trees:
    """Forks of chats; `ConversationStore.trees` is one. All raise `AIError` if that fails."""

    def __init__(
        self,
        database: Database,
        save_first: Callable[[], Awaitable[None]],
        clock_ms: Callable[[], int],
    ) -> None:
        self._database = database
        self._save_first = save_first
        self._clock_ms = clock_ms

    async def extent(self, conversation_id: str, message_id: str) -> Extent | None:
        """Return what the deletion of a message would take; None if it does not exist.

        Raises:
            AIError: it cannot be read.
        """
        await self._save_first()
        read = partial(extent_of, conversation_id=conversation_id, message_id=message_id)
        return await self._database.read(read)

    async def read(self, conversation_id: str) -> tuple[Stretch, ...]:
        """Return a chat as the stretches between its forks; none if it does not exist."""
        await self._save_first()
        read = partial(read_tree, conversation_id=conversation_id)
        return await self._database.read(read) or ()

    async def siblings(self, journal: ConversationJournal) -> Mapping[int, tuple[str, ...]]:
        """Return the messages beside those of an open chat, by the positions that have some."""
        await self._save_first()
        path, known = journal.path, journal.watch.forks

        def read(connection: sqlite3.Connection) -> Mapping[int, tuple[str, ...]]:
            revision = known.revision if known is not None else None
            state = chat_state(connection, journal.conversation_id, revision)
            if state is None:
                return {}
            if known is not None and state.revision == revision:
                return {
                    at: ids
                    for at, ids in known.siblings.items()
                    if at < len(path) and path[at] in ids
                }
            return siblings(state.nodes, path)

        return await self._database.read(read)

    async def show(self, journal: ConversationJournal) -> None:
        """Remember the branch of an open chat, which is the one that is opened next."""
        if journal.path:
            await self._save_first()
            remember = partial(
                remember_shown,
                conversation_id=journal.conversation_id,
                leaf_id=journal.path[-1],
                now_ms=self._clock_ms(),
            )
            await self._database.write(remember)

    async def fork(self, conversation_id: str, message_id: str) -> str:
        """Copy a message and those before it to a chat of its own; return its id."""
        await self._save_first()
        copy = partial(
            fork, conversation_id=conversation_id, message_id=message_id, now_ms=self._clock_ms()
        )
        fresh = await self._database.write(copy)
        if fresh is None:
            raise AIError(ErrorCode.BAD_REQUEST, "This message no longer exists.")
        return fresh
