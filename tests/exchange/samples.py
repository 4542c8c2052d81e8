"""Small exports of other programs, written by hand after what they write."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

PIXEL = "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs="
PICTURE = f"data:image/gif;base64,{PIXEL}"


def node(node_id: str, parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {
        "id": node_id,
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": 1704067200.5,
        "content": content,
        "status": "finished_successfully",
        "metadata": {"model_slug": "gpt-5"} if role == "assistant" else {},
        "recipient": "all",
    }
    return {"id": node_id, "parent": parent, "children": [], "message": message | more}


def chatgpt(name: str = "conv-1", title: str = "A branch") -> dict[str, Any]:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-a"}
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        node("s", "root", "system", ""),
        node("q", "s", "user", picture, "What is this?"),
        node(
            "t",
            "q",
            "assistant",
            content={"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]},
        ),
        node(
            "c",
            "t",
            "assistant",
            content={"content_type": "code", "text": '{"q": "cats"}'},
            recipient="web.search",
        ),
        node("r", "c", "tool", "cats found", name="web.search"),
        node("a1", "r", "assistant", "A cat."),
        node("a2", "r", "assistant", "A tiger."),
        node("q2", "a2", "user", "Sure?"),
    ]
    return {
        "id": name,
        "title": title,
        "create_time": 1704067200,
        "update_time": 1704067500.25,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "q2",
    }


def open_webui() -> dict[str, Any]:
    thinking = (
        '<details type="reasoning" done="true" duration="2">\n<summary>Thought for 2 seconds'
        "</summary>\n&gt; Is 1 &lt; 2?\n> Yes.\n</details>\nYes."
    )
    messages: dict[str, Any] = {
        "u": {
            "id": "u",
            "parentId": None,
            "childrenIds": ["x", "y"],
            "role": "user",
            "content": "1 < 2?",
            "files": [
                {"type": "image", "url": PICTURE},
                {"type": "file", "name": "notes.txt"},
            ],
            "timestamp": 1704067200,
        },
        "x": {
            "id": "x",
            "parentId": "u",
            "role": "assistant",
            "content": thinking,
            "model": "qwen3",
        },
        "y": {
            "id": "y",
            "parentId": "u",
            "role": "assistant",
            "content": "",
            "error": {"content": "No memory."},
            "model": "llama3",
        },
    }
    return {
        "id": "web-1",
        "user_id": "me",
        "title": "Numbers",
        "chat": {
            "history": {"messages": messages, "currentId": "x"},
            "params": {"system": "Be exact."},
            "models": ["qwen3"],
        },
        "created_at": 1704067200,
        "updated_at": 1704067300,
    }


def lm_studio() -> dict[str, Any]:
    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    def step(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "contentBlock", "content": list(content), **more}

    call = {"type": "toolCallRequest", "callId": 7, "name": "clock", "parameters": {"zone": "UTC"}}
    result = {"type": "toolCallResult", "callId": 7, "content": "12:00"}
    answer = {
        "type": "multiStep",
        "role": "assistant",
        "senderInfo": {"senderName": "qwen/qwen3-8b"},
        "steps": [
            step(text("Look."), style={"type": "thinking", "ended": True}),
            step(call),
            {"type": "debugInfoBlock", "debugInfo": "x"},
            step(result, roleOverride="tool"),
            step(text("Noon.")),
        ],
    }
    other = {"type": "multiStep", "role": "assistant", "steps": [step(text("Late."))]}
    return {
        "name": "Time",
        "createdAt": 1730000000000,
        "messages": [
            {
                "versions": [{"type": "singleStep", "role": "user", "content": [text("When?")]}],
                "currentlySelected": 0,
            },
            {"versions": [answer, other], "currentlySelected": 0},
        ],
        "lastUsedModel": {"identifier": "qwen/qwen3-8b"},
        "perChatPredictionConfig": {
            "fields": [{"key": "llm.prediction.systemPrompt", "value": "Be brief."}]
        },
    }


def parllama() -> dict[str, Any]:
    return {
        "id": "par-1",
        "name": "Rhymes",
        "last_updated": "2025-01-01T10:00:00+00:00",
        "llm_config": {"provider": "Ollama", "model_name": "llama3.2", "temperature": 0.5},
        "messages": [
            {"id": "1", "role": "system", "content": "Rhyme."},
            {
                "id": "2",
                "role": "user",
                "content": "Hi",
                "images": [PICTURE],
            },
            {"id": "3", "role": "assistant", "content": "Fly", "thinking": "Sky?"},
        ],
    }


def oterm(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            """
            CREATE TABLE "chat" ("id" INTEGER, "name" TEXT, "model" TEXT NOT NULL, "system" TEXT,
              "provider" TEXT, "parameters" TEXT, "tools" TEXT, "thinking" BOOLEAN,
              PRIMARY KEY("id" AUTOINCREMENT));
            CREATE TABLE "message" ("id" INTEGER, "chat_id" INTEGER NOT NULL,
              "author" TEXT NOT NULL, "text" TEXT NOT NULL, "images" TEXT DEFAULT "[]",
              PRIMARY KEY("id" AUTOINCREMENT));
            """
        )
        db.execute(
            "INSERT INTO chat VALUES (1, 'Cats', 'llama3', 'Be kind.', 'ollama', ?, '[]', 0)",
            ('{"temperature": 0.5, "max_tokens": 100}',),
        )
        db.execute("INSERT INTO chat (id, name, model) VALUES (2, 'Empty', 'llama3')")
        db.execute("INSERT INTO message VALUES (1, 1, 'user', 'Meow?', ?)", (json.dumps([PIXEL]),))
        db.execute("INSERT INTO message VALUES (2, 1, 'assistant', 'Purr.', '[]')")
        db.commit()
    return path


def llm_responses(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            """
            CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
            CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
              response TEXT, conversation_id TEXT, datetime_utc TEXT, reasoning TEXT);
            CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT,
              content BLOB);
            CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
            CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT,
              arguments TEXT, tool_call_id TEXT);
            CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT,
              output TEXT, tool_call_id TEXT);
            INSERT INTO conversations VALUES ('c1', 'Time', 'gpt-4o');
            INSERT INTO responses VALUES ('r1', 'gpt-4o', 'When?', 'Be brief.', '', 'c1',
              '2025-01-01T10:00:00', 'Clock.');
            INSERT INTO responses VALUES ('r2', 'gpt-4o', '', NULL, 'Noon.', 'c1',
              '2025-01-01T10:00:01', NULL);
            INSERT INTO tool_calls VALUES (1, 'r1', 'clock', '{"zone": "UTC"}', 't1');
            INSERT INTO tool_results VALUES (1, 'r2', 'clock', '12:00', 't1');
            INSERT INTO attachments VALUES ('a1', 'image/gif', NULL, NULL, x'474946');
            INSERT INTO prompt_attachments VALUES ('r1', 'a1', 0);
            INSERT INTO responses VALUES ('r3', 'gpt-4o', 'Alone', NULL, 'Yes', NULL, NULL, NULL);
            """
        )
    return path


def llm_threads(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            """
            CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT,
              forked_from TEXT, datetime_utc TEXT);
            CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
              tip_message_hash TEXT, model TEXT, datetime_utc TEXT);
            CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT,
              provider_metadata TEXT);
            CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER,
              type TEXT, tool_name TEXT, text TEXT, payload TEXT);
            CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
            INSERT INTO threads VALUES ('th', 'Time', 'm5', NULL, '2025-01-01T10:00:00+00:00');
            INSERT INTO turns VALUES ('u1', 'th', 'm2', 'm3', 'gpt-5', '2025-01-01T10:00:00+00:00');
            INSERT INTO turns VALUES ('u2', 'th', 'm4', 'm5', 'gpt-5', '2025-01-01T10:00:02+00:00');
            INSERT INTO messages VALUES ('m1', NULL, 'system', NULL), ('m2', 'm1', 'user', NULL),
              ('m3', 'm2', 'assistant', NULL), ('m4', 'm3', 'tool', NULL),
              ('m5', 'm4', 'assistant', NULL);
            INSERT INTO fragments VALUES (4, 'h', 'a novel');
            INSERT INTO parts VALUES (1, 'm1', 0, 'text', NULL, 'Be brief.', NULL);
            INSERT INTO parts VALUES (2, 'm2', 0, 'text', NULL, NULL,
              '{"text_ref": [{"literal": "Read "}, {"fragment": 4}]}');
            INSERT INTO parts VALUES (3, 'm3', 0, 'reasoning', NULL, 'Clock.', NULL);
            INSERT INTO parts VALUES (4, 'm3', 1, 'tool_call', 'clock', NULL,
              '{"name": "clock", "arguments": {"zone": "UTC"}, "tool_call_id": "t1"}');
            INSERT INTO parts VALUES (5, 'm4', 0, 'tool_result', 'clock', NULL,
              '{"name": "clock", "output": "12:00", "tool_call_id": "t1"}');
            INSERT INTO parts VALUES (6, 'm5', 0, 'text', NULL, 'Noon.', NULL);
            """
        )
    return path


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def zipped(path: Path, value: Any, name: str = "conversations.json") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr(name, json.dumps(value))
    return path


def all_samples(folder: Path) -> list[Path]:
    """One file of each program."""
    return [
        written(folder / "conversations.json", [chatgpt()]),
        zipped(folder / "chatgpt.zip", [chatgpt("conv-2", "Zipped")], "x/conversations-001.json"),
        written(folder / "webui.json", [open_webui()]),
        written(folder / "1730000000000.conversation.json", lm_studio()),
        written(folder / "par-1.json", parllama()),
        oterm(folder / "store.db"),
        llm_responses(folder / "logs.db"),
        llm_threads(folder / "new-logs.db"),
    ]
