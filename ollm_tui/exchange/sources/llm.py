"""The `logs.db` of llm: older versions log responses, newer ones a tree of messages.

A database may hold both. A file that an attachment names only by its path is not read.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from ollm_tui.decode.json_fields import as_object, integer, objects, string
from ollm_tui.exchange.foreign import ForeignChat, ForeignMessage, Origin, time_ms
from ollm_tui.exchange.sources.sqlite_file import Row, Tables, text
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
)
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings

_APP: Final = "llm"
_MAX_LINKS: Final = 100_000


def fits(tables: Tables) -> bool:
    """Return whether a database is a log of llm."""
    return _has_responses(tables) or _has_threads(tables)


def _has_responses(tables: Tables) -> bool:
    return tables.has("responses", "id", "prompt", "response", "conversation_id")


def _has_threads(tables: Tables) -> bool:
    return (
        tables.has("threads", "id", "tip_message_hash")
        and tables.has("messages", "hash", "parent_hash", "role")
        and tables.has("parts", "message_hash", "position", "type")
    )


def read(tables: Tables, origin: Origin) -> Iterator[ChatRecord]:
    """Yield the conversations, then the threads."""
    chats = [_Responses(tables).chats()] if _has_responses(tables) else []
    chats += [_Threads(tables).chats()] if _has_threads(tables) else []
    for listed in chats:
        for chat in listed:
            record = chat.record(origin)
            if record is not None:
                yield record


class _Responses:
    """Conversations of the older tables: a row for each prompt and its response."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def chats(self) -> Iterator[ForeignChat]:
        names = {}
        if self._tables.has("conversations", "id"):
            listed = self._tables.rows("conversations", ("id", "name"))
            names = {one["id"]: text(one, "name") for one in listed}
        heads = self._tables.rows("responses", ("id", "conversation_id"), "ORDER BY id")
        ids: dict[str, list[str]] = {}
        for head in heads:
            if (response_id := text(head, "id")) is not None:
                chat_id = text(head, "conversation_id") or response_id
                ids.setdefault(chat_id, []).append(response_id)
        columns = ("id", "model", "prompt", "system", "response", "reasoning", "datetime_utc")
        for chat_id, responses in ids.items():
            rows = [
                row
                for response_id in responses
                for row in self._tables.rows("responses", columns, "WHERE id = ?", (response_id,))
            ]
            messages = list(self._messages(rows))
            systems = (text(row, "system") for row in rows)
            yield ForeignChat(
                app=_APP,
                id=chat_id,
                title=names.get(chat_id),
                messages=messages,
                leaf=messages[-1].id if messages else None,
                settings=ConversationSettings(
                    model=text(rows[-1], "model") if rows else None,
                    system_prompt=next(filter(None, systems), None),
                ),
            )

    def _messages(self, rows: list[Row]) -> Iterator[ForeignMessage]:
        parent: str | None = None
        for row in rows:
            response_id = text(row, "id") or ""
            moment = time_ms({"at": text(row, "datetime_utc")}, "at")
            parts = [
                *self._results(response_id),
                (f"{response_id}/prompt", self._prompt(response_id, row)),
                (response_id, self._answer(response_id, row)),
            ]
            for name, message in parts:
                if message is None:
                    continue
                yield ForeignMessage(
                    id=name,
                    parent=parent,
                    message=message,
                    created_ms=moment,
                    model=text(row, "model"),
                )
                parent = name

    def _prompt(self, response_id: str, row: Row) -> Message | None:
        blocks = list(self._attachments(response_id))
        pieces = [*self._fragments(response_id), text(row, "prompt")]
        words = "\n".join(piece for piece in pieces if piece)
        if words:
            blocks.append(TextContent(words))
        return Message("user", blocks) if blocks else None

    def _answer(self, response_id: str, row: Row) -> Message | None:
        blocks: list[Block] = []
        if (thought := text(row, "reasoning")) is not None:
            blocks.append(ThinkingContent(thought))
        if (answer := text(row, "response")) is not None:
            blocks.append(TextContent(answer))
        calls = []
        if self._tables.has("tool_calls", "response_id"):
            columns = ("id", "name", "arguments", "tool_call_id")
            for call in self._related("tool_calls", columns, response_id):
                raw = text(call, "arguments") or ""
                calls.append(
                    ToolCall(
                        id=text(call, "tool_call_id") or f"call-{_number(call)}",
                        name=text(call, "name") or "tool",
                        args=_object(raw),
                        raw_args=raw,
                    )
                )
        return Message("assistant", blocks, tool_calls=calls) if blocks or calls else None

    def _results(self, response_id: str) -> Iterator[tuple[str, Message | None]]:
        if self._tables.has("tool_results", "response_id"):
            columns = ("id", "name", "output", "tool_call_id")
            for one in self._related("tool_results", columns, response_id):
                message = Message(
                    "tool",
                    text(one, "output") or "",
                    name=text(one, "name"),
                    tool_call_id=text(one, "tool_call_id"),
                )
                yield f"{response_id}/result-{_number(one)}", message

    def _related(self, table: str, columns: tuple[str, ...], response_id: str) -> list[Row]:
        where = "WHERE response_id = ? ORDER BY id"
        return self._tables.rows(table, columns, where, (response_id,))

    def _fragments(self, response_id: str) -> Iterator[str | None]:
        tables = self._tables
        if tables.has("fragments", "id", "content") and tables.has(
            "prompt_fragments", "response_id", "fragment_id", "order"
        ):
            where = (
                "WHERE id IN (SELECT fragment_id FROM prompt_fragments WHERE response_id = ?)"
                " ORDER BY id"
            )
            for one in tables.rows("fragments", ("id", "content"), where, (response_id,)):
                yield text(one, "content")

    def _attachments(self, response_id: str) -> Iterator[Block]:
        tables = self._tables
        if tables.has("attachments", "id") and tables.has(
            "prompt_attachments", "response_id", "attachment_id"
        ):
            where = (
                "WHERE id IN (SELECT attachment_id FROM prompt_attachments WHERE response_id = ?)"
                " ORDER BY id"
            )
            columns = ("id", "type", "path", "url", "content")
            for one in tables.rows("attachments", columns, where, (response_id,)):
                yield _attached(one)


class _Threads:
    """Threads of the newer tables: each points to the end of a chain of messages."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def chats(self) -> Iterator[ForeignChat]:
        columns = ("id", "name", "tip_message_hash", "datetime_utc")
        for thread in self._tables.rows("threads", columns, "ORDER BY id"):
            thread_id = text(thread, "id")
            if thread_id is not None:
                yield self._chat(thread_id, thread)

    def _chat(self, thread_id: str, thread: Row) -> ForeignChat:
        turns = self._turns(thread_id)
        tip = text(thread, "tip_message_hash")
        known: dict[str, ForeignMessage] = {}
        system_prompt: str | None = None
        for end in (*turns, tip):
            for name, parent, role in self._chain(end, known):
                message = self._message(name, role)
                if role == "system" and parent is None and message is not None:
                    system_prompt, message = message.text, None
                turn = turns.get(name, {})
                known[name] = ForeignMessage(
                    id=name,
                    parent=parent,
                    message=message,
                    created_ms=time_ms({"at": text(turn, "datetime_utc")}, "at"),
                    model=text(turn, "model"),
                )
        models = [one.model for one in known.values() if one.model]
        return ForeignChat(
            app=_APP,
            id=thread_id,
            title=text(thread, "name"),
            messages=list(known.values()),
            leaf=tip,
            created_ms=time_ms({"at": text(thread, "datetime_utc")}, "at"),
            settings=ConversationSettings(
                model=models[-1] if models else None, system_prompt=system_prompt
            ),
        )

    def _turns(self, thread_id: str) -> dict[str, Row]:
        if not self._tables.has("turns", "thread_id", "tip_message_hash"):
            return {}
        columns = ("id", "tip_message_hash", "model", "datetime_utc")
        rows = self._tables.rows("turns", columns, "WHERE thread_id = ? ORDER BY id", (thread_id,))
        return {tip: row for row in rows if (tip := text(row, "tip_message_hash"))}

    def _chain(
        self, end: str | None, known: Mapping[str, ForeignMessage]
    ) -> Iterator[tuple[str, str | None, str]]:
        """Yield the messages from one back to the first, or to one that is known."""
        passed: set[str] = set()
        while end is not None and end not in known and end not in passed:
            passed.add(end)
            columns = ("hash", "parent_hash", "role")
            rows = self._tables.rows("messages", columns, "WHERE hash = ?", (end,))
            if not rows or len(passed) > _MAX_LINKS:
                return
            parent = text(rows[0], "parent_hash")
            yield end, parent, text(rows[0], "role") or "unknown"
            end = parent

    def _message(self, name: str, role: str) -> Message | None:
        columns = ("type", "text", "payload")
        where = "WHERE message_hash = ? ORDER BY position"
        blocks: list[Block] = []
        calls: list[ToolCall] = []
        result: JsonObject = {}
        for row in self._tables.rows("parts", columns, where, (name,)):
            payload = _object(text(row, "payload") or "{}") or {}
            match text(row, "type"):
                case "text":
                    blocks.append(TextContent(text(row, "text") or self._resolved(payload)))
                case "reasoning":
                    blocks.append(ThinkingContent(text(row, "text") or ""))
                case "tool_call":
                    calls.append(_call(payload, len(calls) + 1))
                case "tool_result":
                    result = payload
                    blocks.append(TextContent(string(payload, "output") or ""))
                case "attachment":
                    blocks.append(self._attachment(payload))
                case kind:
                    blocks.append(UnknownContent(kind or "part", payload))
        blocks = [b for b in blocks if not isinstance(b, TextContent | ThinkingContent) or b.text]
        if not blocks and not calls:
            return None
        return Message(
            role,
            blocks,
            tool_calls=calls,
            name=string(result, "name"),
            tool_call_id=string(result, "tool_call_id"),
        )

    def _resolved(self, payload: JsonMapping) -> str:
        """Return a text that borrows from fragments."""
        pieces = []
        for piece in objects(payload.get("text_ref")):
            number = integer(piece, "fragment")
            if number is None:
                pieces.append(string(piece, "literal") or "")
            elif self._tables.has("fragments", "id", "content"):
                where = "WHERE id = ?"
                rows = self._tables.rows("fragments", ("content",), where, (number,))
                pieces += [text(row, "content") or "" for row in rows]
        return "".join(pieces)

    def _attachment(self, payload: JsonMapping) -> Block:
        name = string(as_object(payload.get("attachment")), "id")
        if name is not None and self._tables.has("attachments", "id"):
            columns = ("id", "type", "path", "url", "content")
            for one in self._tables.rows("attachments", columns, "WHERE id = ?", (name,)):
                return _attached(one)
        return UnknownContent("attachment", {"id": name})


def _attached(one: Row) -> Block:
    kind, content = text(one, "type") or "", one["content"]
    data = content if isinstance(content, bytes) else None
    url = text(one, "url")
    if kind.startswith("audio/"):
        return AudioContent(data=data, url=url, mime_type=kind)
    if kind.startswith("image/") or not kind:
        return ImageContent(data=data, url=url, mime_type=kind or None, name=text(one, "path"))
    return UnknownContent("attachment", {"mime_type": kind, "url": url, "path": text(one, "path")})


def _call(payload: JsonObject, number: int) -> ToolCall:
    arguments = payload.get("arguments")
    return ToolCall(
        id=string(payload, "tool_call_id") or f"call-{number}",
        name=string(payload, "name") or "tool",
        args=arguments if isinstance(arguments, dict) else None,
    )


def _object(raw: str) -> JsonObject | None:
    try:
        value: JsonValue = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _number(row: Row) -> int:
    value = row["id"]
    return value if isinstance(value, int) else 0
