"""The pictures beside the chats of ChatGPT's export come with their messages."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.attachments.attachment import MAX_PICTURE_BYTES
from ollm_tui.exchange import archive_pictures, importing
from ollm_tui.exchange.archive_pictures import ArchivePictures
from ollm_tui.exchange.document import document_pieces
from ollm_tui.exchange.html import html_pieces
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.exchange import samples
from tests.exchange.test_import import imported, one_chat
from tests.support.picture_bytes import bmp, gif, heic, jpeg, png


def archive(path: Path, files: Mapping[str, bytes], chats: int = 1) -> Path:
    """An export whose chats have the picture `file-a` in their first message."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("file-a0-other.png", png(9, 9))
        for name, data in files.items():
            packed.writestr(name, data)
        names = [f"conv-{number}" for number in range(chats)]
        packed.writestr("conversations.json", json.dumps([samples.chatgpt(one) for one in names]))
    return path


def first_block(path: Path) -> Block:
    return one_chat(path).messages[0].message.content[0]


@pytest.mark.parametrize(
    ("member", "name", "data", "kind"),
    [
        ("file-a-cat.png", "cat.png", png(), "png"),
        ("user-1/file-a-cat.png", "cat.png", jpeg(), "jpeg"),  # by its bytes, not its name
        ("dalle-generations/file-a.webp", "file-a.webp", gif(), "gif"),
        ("file-a", "file-a", png(), "png"),
        ("file-a-\x1b]0;x.png", "⟦U+001B⟧]0;x.png", png(), "png"),
    ],
    ids=["named", "in a folder", "bare", "no ending", "hostile"],
)
def test_a_picture_is_known_by_the_id_before_its_name(
    tmp_path: Path, member: str, name: str, data: bytes, kind: str
) -> None:
    block = first_block(archive(tmp_path / "c.zip", {member: data}))
    assert isinstance(block, ImageContent)
    assert (block.data, block.mime_type) == (to_base64(data), f"image/{kind}")
    assert block.name == name
    record = one_chat(tmp_path / "c.zip")
    assert record.messages[0].message.text == "What is this?"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cat.png is not a picture."),
        (b"<html>", "cat.png is not a picture."),
        (bmp(), "cat.png is a BMP file."),
        (heic(), "cat.png is a HEIC file."),
        (png(9_000, 9_000), "cat.png has 9,000 x 9,000 pixels;"),
        (png() + bytes(MAX_PICTURE_BYTES), "cat.png has 20.0 MB; 20 MB is the limit."),
    ],
    ids=["empty", "page", "bmp", "heic", "wide", "large"],
)
def test_a_picture_that_cannot_be_shown_is_a_sentence(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    block = first_block(archive(tmp_path / "c.zip", {"file-a-cat.png": data}))
    assert isinstance(block, TextContent)
    assert block.text.startswith(f"[A picture cannot be shown. {reason}")


@given(st.data())
def test_a_damaged_picture_never_costs_the_chat(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = archive(
        tmp_path_factory.getbasetemp() / "damaged.zip", {"file-a-cat.png": png(40, 40) * 3}
    )
    raw = bytearray(path.read_bytes())
    start = raw.index(b"file-a-cat.png")
    at = data.draw(st.integers(start + 14, start + 60))
    raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    record = one_chat(path)
    assert record.messages[0].message.text.endswith("What is this?")


def test_a_picture_that_is_not_there_is_named(tmp_path: Path) -> None:
    block = first_block(archive(tmp_path / "c.zip", {"file-abc.png": png(), "a/file-a/": b""}))
    assert block == ImageContent(name="file-service://file-a")


@pytest.mark.parametrize("pointer", ["sediment://file_0f", "sediment://file_0f?x=1", "file_0f#p"])
def test_newer_pointers(tmp_path: Path, pointer: str) -> None:
    with zipfile.ZipFile(archive(tmp_path / "c.zip", {"file_0f-sanitized.png": png()})) as packed:
        pictures = ArchivePictures(packed)
        block = pictures.block(pointer)
        assert isinstance(block, ImageContent)
        assert block.name == "sanitized.png"
        assert pictures.block("") is None
        assert pictures.block("file://" + "file_0f" * 100) is None


def test_a_chat_keeps_as_many_pictures_as_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_pictures, "MAX_CHAT_BYTES", 2 * len(png()) - 1)
    chat = samples.chatgpt()
    question = chat["mapping"]["q"]["message"]["content"]["parts"]
    question.insert(0, question[0])
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed:
        packed.writestr("file-a.png", png())
        packed.writestr("conversations.json", json.dumps([chat, chat | {"id": "conv-2"}]))
    for record in ImportFile(tmp_path / "c.zip").chats():
        first, second, _text = record.messages[0].message.content  # type: ignore[union-attr]
        assert isinstance(first, ImageContent)
        assert isinstance(second, TextContent)
        assert "file-a.png is left out" in second.text


async def test_a_picture_goes_through_the_store_and_into_exports(tmp_path: Path) -> None:
    path = archive(tmp_path / "c.zip", {"file-a-cat.png": png()})
    async with open_store(tmp_path / "chats.db") as store:
        assert (await imported(store, path)).chats == 1
        again = await imported(store, path)
        assert (again.chats, again.messages, again.unchanged) == (0, 0, 1)
        record = await stored(store)
    document = tmp_path / "own.json"
    document.write_text("".join(document_pieces(record)))
    assert to_base64(png()) in "".join(html_pieces(record))
    async with open_store(tmp_path / "other.db") as other:
        await imported(other, document)
        assert await stored(other) == record
    (picture, _text) = record.messages[0].message.content
    assert isinstance(picture, ImageContent)
    assert (picture.name, picture.width, picture.height) == ("cat.png", 3, 2)


async def stored(store: ConversationStore) -> Any:
    (summary,) = await store.list()
    return await store.records.read(summary.id)


async def test_few_chats_with_large_pictures_are_in_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_BYTES_AT_ONCE", 100)
    path = archive(tmp_path / "c.zip", {"file-a.png": png()}, chats=7)
    sizes: list[int] = []
    async with open_store(tmp_path / "chats.db") as store:
        result = ImportResult()
        await import_files(
            [path], store.records, lambda _file, now: sizes.append(now.chats), result
        )
    assert max(after - before for before, after in zip([0, *sizes], sizes, strict=False)) <= 2
    assert result.chats == 7
