"""Base64 in pieces is base64, and what is no base64 is refused."""

import base64
import random

import pytest

from ollm_tui.protocol.base64_text import _PIECE, from_base64, to_base64


@pytest.mark.parametrize("size", [0, 1, 2, 3, _PIECE - 1, _PIECE, _PIECE + 1, 2 * _PIECE + 2])
def test_there_and_back(size: int) -> None:
    data = random.Random(size).randbytes(size)
    text = to_base64(data)
    assert text == base64.b64encode(data).decode()
    assert from_base64(text) == data


@pytest.mark.parametrize("before", ["", "A" * (_PIECE // 3 * 4), "A" * (_PIECE // 3 * 4 - 4)])
@pytest.mark.parametrize("wrong", ["A", "AA", "AAA", "AA=A", "AAA=AAAA", "A===", "A\nAA", "Ää=="])
def test_what_is_no_base64_is_refused(before: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        base64.b64decode(before + wrong, validate=True)
    with pytest.raises(ValueError, match=r"."):
        from_base64(before + wrong)
