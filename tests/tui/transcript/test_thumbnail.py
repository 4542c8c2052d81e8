"""Pictures decoded and scaled for the screen, and what cannot be."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.images import ImageHeader, read_image_header
from ollm_tui.tui.transcript import thumbnail
from ollm_tui.tui.transcript.thumbnail import (
    MAX_ROWS,
    Thumbnail,
    ThumbnailSize,
    fitted,
    make_thumbnail,
)
from tests.decode.drawn import BLUE, GREEN, KINDS, RED, Image, bomb, flat, halves, moving, saved

BLACK = (0, 0, 0)


def made(data: bytes, width: int = 20, background: tuple[int, int, int] = BLACK) -> Thumbnail:
    header = read_image_header(data)
    assert header is not None
    found = make_thumbnail(data, header, fitted(header, width), background)
    assert found is not None
    return found


def pixel(found: Thumbnail, column: int, line: int) -> tuple[int, ...]:
    start = 3 * (line * found.size.columns + column)
    return tuple(found.pixels[start : start + 3])


def is_near(colour: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(colour, other, strict=True))


def test_a_picture_is_as_large_as_fits() -> None:
    assert fitted(ImageHeader("png", 640, 480), 100) == ThumbnailSize(53, 40)
    assert fitted(ImageHeader("png", 640, 480), 20) == ThumbnailSize(20, 15)
    assert fitted(ImageHeader("png", 16, 12), 100) == ThumbnailSize(16, 12)
    assert fitted(ImageHeader("png", 30_000, 1), 100) == ThumbnailSize(100, 1)
    assert fitted(ImageHeader("png", 1, 30_000), 100) == ThumbnailSize(1, 40)


@given(st.integers(1, 2**32), st.integers(1, 2**32), st.integers(1, 100))
def test_it_always_fits(width: int, height: int, measure: int) -> None:
    size = fitted(ImageHeader("png", width, height), measure)
    assert 1 <= size.columns <= measure
    assert 1 <= size.rows <= MAX_ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_decoded(kind: str) -> None:
    found = made(halves(kind, (200, 100)))
    assert found.size == ThumbnailSize(20, 10)
    assert len(found.pixels) == 20 * 10 * 3
    assert is_near(pixel(found, 3, 1), (254, 0, 0))
    assert is_near(pixel(found, 16, 8), (0, 0, 254))


@pytest.mark.parametrize(
    ("orientation", "corner", "opposite"),
    [
        (3, BLUE, RED),
        (4, BLUE, RED),
        (5, RED, BLUE),
        (6, BLUE, RED),
        (7, BLUE, RED),
        (8, RED, BLUE),
    ],
)
def test_a_photograph_stands_upright(
    orientation: int, corner: tuple[int, int, int], opposite: tuple[int, int, int]
) -> None:
    found = made(halves("jpeg", (40, 20), orientation), 40)
    turned = orientation > 4
    assert found.size == (ThumbnailSize(20, 40) if turned else ThumbnailSize(40, 20))
    assert is_near(pixel(found, 1, 1), corner)
    last = (found.size.columns - 2, found.size.lines - 2)
    assert is_near(pixel(found, *last), opposite)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_mode_of_pixels_is_shown(mode: str) -> None:
    image = Image.new("I;16", (8, 8), 0x8000) if mode == "I;16" else None
    if image is None:
        image = Image.new("L", (8, 8), 128).convert(mode)
    assert is_near(pixel(made(saved(image, "png")), 4, 4), (128,) * 3) or mode == "1"
    cmyk = saved(Image.new("CMYK", (8, 8), (0, 0, 0, 127)), "jpeg")
    assert is_near(pixel(made(cmyk), 4, 4), (128,) * 3)


def test_what_shows_through_lies_on_the_background() -> None:
    clear = saved(Image.new("RGBA", (8, 8), (255, 0, 0, 0)), "png")
    assert pixel(made(clear, background=GREEN), 4, 4) == GREEN
    half = saved(Image.new("RGBA", (8, 8), (255, 255, 255, 128)), "png")
    assert is_near(pixel(made(half), 4, 4), (128,) * 3)
    keyed = saved(Image.new("RGB", (8, 8), RED), "png", transparency=RED)
    assert pixel(made(keyed, background=GREEN), 4, 4) == GREEN
    odd = made(flat(size=(5, 3)), background=GREEN)
    assert len(odd.pixels) == 5 * 4 * 3
    assert (pixel(odd, 0, 2), pixel(odd, 0, 3)) == (RED, GREEN)


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_of_a_moving_picture_the_first_frame_is_shown(kind: str) -> None:
    assert is_near(pixel(made(moving(kind)), 4, 4), (254, 0, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_off_picture_is_none(kind: str) -> None:
    noise = Image.frombytes("RGB", (64, 64), random.Random(1).randbytes(64 * 64 * 3))
    data = saved(noise, kind)
    header = read_image_header(data)
    assert header is not None
    assert make_thumbnail(data[: len(data) // 2], header, fitted(header, 20), BLACK) is None


def test_a_bomb_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    header = read_image_header(bomb())
    assert header is not None
    monkeypatch.setattr(thumbnail, "_pixels", pytest.fail)
    assert make_thumbnail(bomb(), header, fitted(header, 20), BLACK) is None


@pytest.mark.parametrize("side", [30_000, 9_000])
def test_a_picture_larger_than_declared_is_not_decoded(side: int) -> None:
    header = ImageHeader("png", 10, 10)
    assert make_thumbnail(bomb(side, side), header, ThumbnailSize(10, 10), BLACK) is None


def test_only_the_kind_it_begins_as_is_tried() -> None:
    header = ImageHeader("png", 64, 48)
    assert make_thumbnail(flat("gif"), header, ThumbnailSize(10, 10), BLACK) is None
    assert make_thumbnail(b"", header, ThumbnailSize(10, 10), BLACK) is None


@given(st.sampled_from(KINDS), st.data())
def test_damage_does_no_harm(kind: str, data: st.DataObject) -> None:
    picture = bytearray(halves(kind, (30, 20)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(picture) - 1))
        picture[place] = data.draw(st.integers(0, 255))
    header = read_image_header(bytes(picture))
    if header is not None and header.width * header.height < 1_000_000:
        size = fitted(header, 10)
        found = make_thumbnail(bytes(picture), header, size, BLACK)
        assert found is None or len(found.pixels) == size.columns * size.rows * 2 * 3


def test_without_pillow_there_is_nothing_and_no_fault() -> None:
    program = """
import sys
sys.modules["PIL"] = None
from ollm_tui.decode.images import ImageHeader
from ollm_tui.tui.transcript.thumbnail import ThumbnailSize, can_decode, make_thumbnail
header = ImageHeader("png", 4, 4)
assert not can_decode()
assert make_thumbnail(b"", header, ThumbnailSize(4, 4), (0, 0, 0)) is None
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_finding_pillow_does_not_load_it() -> None:
    program = """
import sys
from ollm_tui.tui.transcript.thumbnail import can_decode
assert can_decode()
assert not [name for name in sys.modules if name.split(".")[0] == "PIL"]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
