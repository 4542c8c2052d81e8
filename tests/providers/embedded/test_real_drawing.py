"""Drawing with the real engine and a tiny model: `make test-engines` with Python 3.12 has both."""

import struct
import sys
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from tests.support.picture_models import WHY_NO_ENGINE, put_tiny

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.skipif(WHY_NO_ENGINE is not None, reason=str(WHY_NO_ENGINE)),
]
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
ABORT_S = 0.5


@asynccontextmanager
async def engine(folder: Path) -> AsyncIterator[EmbeddedProvider]:
    put_tiny(folder)
    async with EmbeddedProvider(FolderLibrary([folder])) as provider:
        yield provider


def wish(
    prompt: str,
    *pictures: bytes,
    mask: bytes | None = None,
    seed: int | None = 1,
    signal: AbortSignal | None = None,
    **body: Any,
) -> Request:
    options: dict[str, Any] = {"size": "64x64", "steps": 3, "cfg_scale": 1.0, **body}
    return Request(
        model="tiny",
        input=[TextContent(prompt), *(ImageContent(data=one) for one in pictures)],
        output="image",
        mask=None if mask is None else ImageContent(data=mask),
        stream=False,
        options=GenerationOptions(seed=seed, extra_body=options),
        signal=signal,
    )


async def drawn(provider: EmbeddedProvider, request: Request) -> bytes:
    (picture,) = (await provider.draw(request)).content
    assert isinstance(picture, ImageContent)
    assert isinstance(picture.data, bytes)
    return picture.data


def rows_of(picture: bytes) -> list[list[tuple[int, ...]]]:
    """Return the pixels of a PNG file whose rows are differences from those above."""
    width, height = struct.unpack(">2I", picture[16:24])
    start = picture.index(b"IDAT")
    (length,) = struct.unpack(">I", picture[start - 4 : start])
    data = zlib.decompress(picture[start + 4 : start + 4 + length])
    above, rows = bytes(3 * width), []
    for number in range(height):
        line = data[number * (3 * width + 1) :][: 3 * width + 1]
        assert line[0] == 2
        above = bytes((one + up) % 256 for one, up in zip(line[1:], above, strict=True))
        rows.append([tuple(above[at : at + 3]) for at in range(0, 3 * width, 3)])
    return rows


def png_of(lines: bytes) -> bytes:
    """Return a PNG file of 64x64 pixels."""
    head = struct.pack(">2I5B", 64, 64, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


GREY = png_of((b"\0" + b"\x63" * 192) * 64)
UPPER_HALF = png_of((b"\0" + b"\xff" * 192) * 32 + (b"\0" * 193) * 32)


@pytest.mark.parametrize(("name", "colour"), [("red", RED), ("green", GREEN), ("blue", BLUE)])
async def test_it_paints_the_colour_that_is_named(
    tmp_path: Path, name: str, colour: tuple[int, ...]
) -> None:
    async with engine(tmp_path) as provider:
        picture = await drawn(provider, wish(f"a {name} cat"))
    assert {pixel for row in rows_of(picture) for pixel in row} == {colour}


async def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    async with engine(tmp_path) as provider:
        one, same, other = [await drawn(provider, wish("x", seed=seed)) for seed in (5, 5, 6)]
        three = (await provider.draw(wish("x", seed=5, n=3))).content
        free = await provider.draw(wish("x", seed=None))
    async with engine(tmp_path) as provider:
        again = await drawn(provider, wish("x", seed=5))
        free_seed = free.metadata["seeds"]
        assert isinstance(free_seed, list)
        repeated = await drawn(provider, wish("x", seed=int(str(free_seed[0]))))
    assert one == same == again
    assert one != other
    assert [getattr(picture, "data", None) for picture in three[:2]] == [one, other]
    assert getattr(free.content[0], "data", None) == repeated


async def test_a_picture_is_changed_where_the_mask_is_white(tmp_path: Path) -> None:
    async with engine(tmp_path) as provider:
        whole = await drawn(provider, wish("make it blue", GREY, strength=0.9))
        half = await drawn(provider, wish("make it blue", GREY, mask=UPPER_HALF, strength=0.9))
    assert {pixel for row in rows_of(whole) for pixel in row} == {BLUE}
    rows = rows_of(half)
    assert (rows[5][5], rows[60][60]) == (BLUE, (99, 99, 99))


async def test_steps_and_previews_are_reported(tmp_path: Path) -> None:
    steps: list[DrawingProgress] = []

    async def report(progress: DrawingProgress) -> None:
        steps.append(progress)

    async with engine(tmp_path) as provider:
        await provider.draw(wish("a red cat", steps=40, size="256x256"), report)
    assert [one.step for one in steps if not one.preview] == [*range(1, 41)]
    assert {one.total_steps for one in steps} == {40}
    assert any(one.preview.startswith(b"\x89PNG") for one in steps)


async def test_a_stop_ends_a_drawing_within_half_a_second(tmp_path: Path) -> None:
    stop = AbortSignal()
    begun: list[float] = []

    async def report(progress: DrawingProgress) -> None:
        if progress.step == 2 and not begun:
            begun.append(time.monotonic())
            stop.abort()

    async with engine(tmp_path) as provider:
        with anyio.fail_after(30), pytest.raises(AIError) as caught:
            await provider.draw(wish("x", steps=1000, size="256x256", signal=stop), report)
        assert time.monotonic() - begun[0] < ABORT_S
        assert caught.value.code == ErrorCode.ABORTED
        assert await drawn(provider, wish("a red cat"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"size": "64x128"}, "squares only"),
        ({"size": "8000x8000"}, "too large"),
        ({"sampler": "none such"}, "no sampler"),
    ],
)
async def test_what_it_cannot_draw_is_one_sentence(
    tmp_path: Path, body: dict[str, Any], words: str
) -> None:
    async with engine(tmp_path) as provider:
        with pytest.raises(AIError, match=words) as caught:
            await provider.draw(wish("a red cat", **body))
        assert caught.value.code == ErrorCode.BAD_REQUEST
        assert await drawn(provider, wish("a red cat"))
