"""A home whose files hold foreign text: settings, themes, model files, remembered choices."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio

from ollm_tui.protocol.blocks import TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.rows import ConversationSettings
from ollm_tui.tui.keys.table import EDITING, KEYS
from tests.hostile.payloads import Payload, marked

THEME = 'primary = "#ff0000"\nforeground = "#ffffff"\nbackground = "#000000"\n'


def make_home(folder: Path) -> Path:
    """Make a home with nothing in it."""
    for name in ("config/ollm/themes", "data/ollm/models", "state/ollm"):
        (folder / name).mkdir(parents=True)
    return folder


def toml(text: str) -> str:
    """Quote a text as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_settings(home: Path, payloads: Sequence[Payload]) -> Path:
    """Add keys that no settings have, for every payload one; and values that do not fit."""
    texts = [toml(marked(p, place)) for place, p in enumerate(payloads)]
    lines = [f"{text} = 1" for text in texts]
    lines += ["[keymap]", *(f'{text} = "f9"' for text in texts)]
    lines += ["[aliases]", *(f"{text} = {text}" for text in texts)]
    _write(home, lines)
    return home


def with_providers(home: Path, payloads: Sequence[Payload]) -> Path:
    """Add providers with hostile labels at which nobody answers."""
    lines = []
    for place, payload in enumerate(payloads):
        lines += [f"[providers.p{place:02}]", 'kind = "ollama"', 'base_url = "http://127.0.0.1:9"']
        lines += [f"label = {toml(marked(payload, place))}"]
    _write(home, lines)
    return home


def with_keys(home: Path, payloads: Sequence[Payload]) -> Path:
    """Map actions to keys with hostile names, the ones that the status line shows first."""
    shown = ["composer.newline", "chat.models", "chat.palette", "chat.help"]
    others = [key.id for key in (*KEYS, *EDITING) if key.id not in (*shown, "composer.submit")]
    pairs = zip([*shown, *others], enumerate(payloads), strict=False)
    lines = [f"{toml(key)} = {toml(f'{place:02}{p.text}')}" for key, (place, p) in pairs]
    _write(home, ["[keymap]", *lines])
    return home


def with_broken_settings(home: Path, payloads: Sequence[Payload]) -> Path:
    """Write a file that is no TOML and begins with a payload."""
    payload = payloads[0]
    file = home / "config" / "ollm" / "config.toml"
    file.write_text(f"{payload.text} = [ {payload.text}\n", "utf-8")
    return home


def with_themes(home: Path, payloads: Sequence[Payload]) -> Path:
    """Add themes with hostile names: some in order, some with hostile contents."""
    wrong = (
        lambda text: f"{toml(text)} = 1\n",
        lambda text: f"primary = {toml(text)}\n{THEME.partition(chr(10))[2]}",
        lambda text: f"{THEME}[variables]\n{toml(text)} = 1\n",
        lambda text: f"{text} = ]\n",
        lambda _text: THEME,
    )
    for place, payload in enumerate(payloads):
        name = f"{place:02}{payload.text}.toml"
        content = wrong[place % len(wrong)](payload.text)
        (home / "config" / "ollm" / "themes" / name).write_text(content, "utf-8")
    return home


def with_model_files(home: Path, payloads: Sequence[Payload]) -> Path:
    """Add model files with hostile names and contents."""
    for place, payload in enumerate(payloads):
        path = home / "data" / "ollm" / "models" / f"{place:02}{payload.text}.gguf"
        path.write_bytes(b"GGUF" + payload.text.encode() * 9)
    return home


def with_choices(home: Path, payloads: Sequence[Payload]) -> Path:
    """Remember models with hostile names."""
    recent = [f"local://{place:02}{p.text}" for place, p in enumerate(payloads)]
    file = home / "state" / "ollm" / "choices.json"
    file.write_text(json.dumps({"recent_models": recent}))
    return home


def with_files_to_use(home: Path, payloads: Sequence[Payload]) -> Path:
    """Put hostile texts and file names where the tools look."""
    texts = [marked(p, place) for place, p in enumerate(payloads)]
    (home / "notes.txt").write_text("\n".join(texts), "utf-8", newline="")
    (home / "files").mkdir()
    for text in texts:
        (home / "files" / text).write_text(f"{text}\n", "utf-8", newline="")
    return home


def with_chats(home: Path, payloads: Sequence[Payload]) -> Path:
    """Save chats with hostile titles, models, tools and tool results; the newest shows them all."""
    named = [f"{place:02}{p.text}" for place, p in enumerate(payloads)]
    text = "\n\n".join(marked(p, place) for place, p in enumerate(payloads))
    anyio.run(_save_chats, home / "data" / "ollm" / "chats.db", named, text)
    return home


async def _save_chats(path: Path, named: Sequence[str], text: str) -> None:
    async with open_store(path) as store:
        for name in reversed(named):
            await _save(store, f"local://{name}", [Message("user", name)])
        call = ToolCall(id="call-1", name=text, args={text: text}, raw_args=text)
        messages = [
            Message("user", "everything"),
            Message("user", text),
            Message("assistant", [ThinkingContent(text), TextContent(text)], tool_calls=[call]),
            Message("tool", text, name=text, tool_call_id="call-1"),
            Message("tool", text, name=text, tool_call_id=text),
            Message(text, text),
            Message("assistant", [UnknownContent(type=text[:40], data={text: text})]),
        ]
        await _save(store, "local://tiny", messages)


async def _save(store: ConversationStore, model: str, messages: Sequence[Message]) -> None:
    journal = store.journal(ConversationSettings(model=model))
    for message in messages:
        await journal.finish(await journal.begin(message), message)


def with_history(home: Path, payloads: Sequence[Payload]) -> Path:
    """Write down earlier prompts, the first payload as the latest."""
    texts = [marked(p, place) for place, p in enumerate(payloads)]
    lines = [json.dumps({"text": text}) for text in reversed(texts)]
    (home / "state" / "ollm" / "prompts.jsonl").write_text("\n".join(lines) + "\n")
    return home


def _write(home: Path, lines: Sequence[str]) -> None:
    (home / "config" / "ollm" / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")


def fit_for_files(payloads: Sequence[Payload]) -> tuple[Payload, ...]:
    """Leave out what no file name can hold."""
    return tuple(p for p in payloads if not {"/", "\0"} & set(p.text))


def fit_for_arguments(payloads: Sequence[Payload]) -> tuple[Payload, ...]:
    """Leave out what no argument and no variable can hold."""
    return tuple(p for p in payloads if "\0" not in p.text)
