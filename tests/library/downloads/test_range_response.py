"""Whatever a server says, an answer is used at the place that was asked for, or not at all."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.library.downloads.part_file import PartState
from ollm_tui.library.downloads.range_response import (
    RangeRequest,
    StartOver,
    interpret,
    strong_etag,
)
from ollm_tui.library.hub.repo import parse_sha256
from ollm_tui.protocol.errors import AIError, ErrorCode

SIZE, OFFSET = 1000, 410
SUM = "ab" * 32
EARLIER = PartState(url="http://h/x", etag='"e"', size=SIZE, sha256=SUM, done=OFFSET)


@dataclass
class Headers:
    """An answer without a body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    first_headers: Mapping[str, str] = field(default_factory=dict)
    url: str = "http://cdn.example/x"

    def pieces(self) -> AsyncIterator[bytes]:
        raise NotImplementedError


numbers = st.integers(-1, 1100).map(str) | st.just(str(SIZE))
values = st.one_of(
    st.text(max_size=12),
    numbers,
    st.builds("bytes {}-{}/{}".format, numbers, numbers, numbers | st.just("*")),
    st.just(f"bytes {OFFSET}-{SIZE - 1}/{SIZE}"),
    st.sampled_from(['"e"', 'W/"e"', '"f"', SUM, f'"{SUM}"', "cd" * 32, "gzip", "chunked"]),
)
headers = st.dictionaries(
    st.sampled_from(
        [
            "content-range",
            "content-length",
            "content-type",
            "content-encoding",
            "transfer-encoding",
            "etag",
            "retry-after",
            "x-linked-etag",
            "x-linked-size",
        ]
    ),
    values,
)
statuses = st.sampled_from([200, 206, 416]) | st.integers(0, 999)
askings = st.sampled_from(
    [
        RangeRequest(name="m.gguf"),
        RangeRequest(name="m.gguf", size=SIZE, sha256=SUM),
        RangeRequest(name="m.gguf", offset=OFFSET, earlier=EARLIER),
        RangeRequest(name="m.gguf", size=SIZE, sha256=SUM, offset=OFFSET, earlier=EARLIER),
    ]
)


@given(askings, statuses, headers, headers)
def test_a_body_is_used_where_it_was_asked_for_or_not_at_all(
    asked: RangeRequest, status: int, header_values: dict[str, str], first: dict[str, str]
) -> None:
    try:
        body = interpret(asked, Headers(status, header_values, first))
    except StartOver:
        assert asked.offset, "from the beginning there is nothing to begin anew"
        return
    except AIError:
        return
    assert body.start == (asked.offset if status == 206 else 0)
    assert status in (200, 206)
    if body.start:
        assert header_values["content-range"].startswith(f"bytes {OFFSET}-")
        assert header_values.get("etag", '"e"') == '"e"'
        assert body.size == SIZE
        assert body.sha256 == SUM
    if asked.sha256 is not None:
        assert body.sha256 == asked.sha256
    if asked.size is not None:
        assert body.size == asked.size
    assert body.etag is None or strong_etag(body.etag) == body.etag


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SUM, SUM),
        (f'"{SUM.upper()}"', SUM),
        (f"sha256:{SUM}", SUM),
        (f'W/"{SUM}"', SUM),
        (SUM[1:], None),
        (f"md5:{SUM}", None),
        (f"{SUM} ", SUM),
        (f"sha256:{SUM}0", None),
        ("", None),
        (None, None),
    ],
)
def test_a_sum_is_64_hex_digits(text: str | None, found: str | None) -> None:
    assert parse_sha256(text) == found


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, ErrorCode.AUTH_FAILED, False),
        (403, ErrorCode.PERMISSION_DENIED, False),
        (404, ErrorCode.MODEL_NOT_FOUND, False),
        (429, ErrorCode.RATE_LIMITED, True),
        (500, ErrorCode.SERVICE_UNAVAILABLE, True),
        (501, ErrorCode.SERVICE_UNAVAILABLE, False),
        (204, ErrorCode.SERVICE_UNAVAILABLE, False),
        (206, ErrorCode.SERVICE_UNAVAILABLE, False),
        (302, ErrorCode.SERVICE_UNAVAILABLE, False),
        (999, ErrorCode.SERVICE_UNAVAILABLE, True),
    ],
)
def test_a_refusal_says_what_to_do(status: int, code: ErrorCode, retryable: bool) -> None:
    with pytest.raises(AIError) as caught:
        interpret(RangeRequest(name="m\u202e.gguf"), Headers(status))
    error = caught.value
    assert (error.code, error.retryable, error.status) == (code, retryable, status)
    assert error.message.startswith("cdn.example does not give m⟦U+202E⟧.gguf: ")
    assert error.hint
