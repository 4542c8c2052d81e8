"""The bytes of a picture, however they came."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ollm_tui.decode.images import ImageData, image_data


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
def test_the_size_of_base64_is_told_without_decoding_it(data: bytes) -> None:
    found = image_data(base64.b64encode(data).decode(), None)
    assert found is not None
    assert found.size == len(data)
