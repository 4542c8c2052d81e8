"""The bytes of a picture, however they came."""

import base64
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ollm_tui.decode.images import ImageData, ImageHeader, image_data, read_image_header
from tests.decode.drawn import KINDS, Image, bomb, flat, halves, saved


@given(st.binary(max_size=300), st.integers(0, 3))
def test_base64_gives_the_bytes_with_and_without_padding(data: bytes, dropped: int) -> None:
    text = base64.b64encode(data).decode()
    for each in (text, text.rstrip("="), text + "\n", f"{text[:8]}\r\n{text[8:]}"):
        assert ImageData(each).whole() == data
    assert data.startswith(ImageData(text[: max(len(text) - dropped, 0)]).whole())


@given(st.text())
@example("=")
@example("==")
def test_no_text_makes_it_fail(text: str) -> None:
    for found in (ImageData(text), image_data(None, f"data:{text}"), image_data(text, None)):
        assert found is not None
        found.head()
        found.whole()
        assert found.size >= 0


def test_only_the_beginning_is_decoded_for_a_header() -> None:
    data = bytes(range(256)) * 4000
    head = ImageData(base64.b64encode(data).decode()).head()
    assert data.startswith(head)
    assert 100_000 < len(head) < 300_000
    assert ImageData(data).head() is data


@pytest.mark.parametrize("scheme", ["data:image/png;base64,", "DATA:;BASE64,"])
def test_a_data_url_is_data(scheme: str) -> None:
    url = scheme + base64.b64encode(b"abc").decode()
    for found in (image_data(None, url), image_data(url, None)):
        assert found is not None
        assert found.whole() == b"abc"


def test_a_link_is_no_data_and_written_out_data_is_none() -> None:
    assert image_data(None, "https://example.org/a.png") is None
    assert image_data(None, None) is None
    found = image_data(None, "data:image/svg+xml,<svg/>")
    assert found is not None
    assert found.whole() == b""
    assert image_data(b"raw", "https://example.org/a.png") == ImageData(b"raw")


@given(data=st.binary(max_size=50))
def test_the_size_of_base64_is_known_without_decoding_it(data: bytes) -> None:
    found = image_data(base64.b64encode(data).decode(), None)
    assert found is not None
    assert found.size == len(data)


SIGNS = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"\xff\xd8",
    b"\xff\xd8\xff\xe1\x00\x40Exif\0\0MM\0\x2a\0\0\0\x08",
    b"GIF89a",
    b"RIFF\0\0\0\0WEBPVP8X",
    b"RIFF\0\0\0\0WEBPVP8L",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"BM",
)
SIDES = st.integers(1, 600)


@given(st.sampled_from(KINDS), SIDES, SIDES)
def test_pictures_are_identified_by_their_beginning(kind: str, width: int, height: int) -> None:
    data = flat(kind, (width, height))
    expected = ImageHeader(kind, width, height)  # type: ignore[arg-type]  # drawn from the kinds
    assert read_image_header(data) == read_image_header(data[: 64 * 1024]) == expected


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 20}, {"exif": b"Exif\0\0x"}])
def test_each_form_of_webp(options: dict[str, object]) -> None:
    data = saved(Image.new("RGB", (300, 7)), "webp", **options)
    assert read_image_header(data) == ImageHeader("webp", 300, 7)


def test_forms_of_jpeg_and_bmp() -> None:
    data = saved(Image.new("RGB", (300, 7)), "jpeg", progressive=True)
    assert read_image_header(data) == ImageHeader("jpeg", 300, 7)
    old = b"BM" + bytes(12) + struct.pack("<IHHHH", 12, 300, 7, 1, 24)
    assert read_image_header(old) == ImageHeader("bmp", 300, 7)
    upside_down = b"BM" + bytes(12) + struct.pack("<Iii", 40, 300, -7)
    assert read_image_header(upside_down) == ImageHeader("bmp", 300, 7)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_photograph_has_the_size_it_is_shown_at(orientation: int) -> None:
    size = (40, 30) if orientation < 5 else (30, 40)
    data = halves("jpeg", (40, 30), orientation)
    assert read_image_header(data) == ImageHeader("jpeg", *size, orientation)


def test_large_profiles_before_the_size_are_stepped_over() -> None:
    data = saved(Image.new("RGB", (300, 7)), "jpeg", icc_profile=bytes(300_000))
    assert read_image_header(data) == ImageHeader("jpeg", 300, 7)
    many = b"\xff\xd8" + b"\xff\xe2\x00\x02" * 100_000 + data[2:]
    assert read_image_header(many) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_size_yet_is_nothing(kind: str) -> None:
    data = flat(kind)
    known = [read_image_header(data[:end]) is not None for end in range(len(data))]
    assert not known[9]
    assert known == sorted(known)


@pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0), (0, 0)])
def test_a_picture_without_any_pixels_is_none(width: int, height: int) -> None:
    assert read_image_header(bomb(width, height)) is None


def test_other_files_are_none() -> None:
    for data in (
        b"",
        b"<svg/>",
        b"%PDF-1.7",
        b"RIFF1234WAVEfmt " + bytes(40),
        b"GIF80a" + bytes(9),
    ):
        assert read_image_header(data) is None


@given(st.sampled_from(SIGNS), st.binary(max_size=200))
def test_no_bytes_make_it_fail(sign: bytes, rest: bytes) -> None:
    for data in (sign + rest, rest):
        header = read_image_header(data)
        assert header is None or (header.width > 0 and header.height > 0)


@given(st.sampled_from(KINDS), st.data())
def test_nor_do_damaged_pictures(kind: str, data: st.DataObject) -> None:
    picture = bytearray(halves(kind, (40, 30), 6 if kind == "jpeg" else 1))
    for _ in range(data.draw(st.integers(1, 8))):
        picture[data.draw(st.integers(0, min(len(picture), 80) - 1))] = data.draw(
            st.integers(0, 255)
        )
    header = read_image_header(bytes(picture))
    assert header is None or (header.width > 0 and header.height > 0)


class Watched(bytes):
    """Counts the bytes that are taken out."""

    taken = 0

    def __getitem__(self, key):  # type: ignore[no-untyped-def]  # two overloads, both only counted
        found = super().__getitem__(key)
        Watched.taken += len(found) if isinstance(found, bytes) else 1
        return found


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xe1\x00\x10Exif\0\0MM\0\x2a\0\0\0\x08\xff\xff" * 60_000,
        b"\xff" * 1_000_000,
        b"\xff\xd0" * 500_000,
        (b"\xff" * 31 + b"\xe2\x00\x02") * 30_000,
    ],
)
def test_little_of_a_hostile_file_is_looked_at(body: bytes) -> None:
    Watched.taken = 0
    assert read_image_header(Watched(b"\xff\xd8" + body)) is None
    assert 0 < Watched.taken <= 64 * 1024
