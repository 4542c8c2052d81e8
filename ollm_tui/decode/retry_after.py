"""Parses when a server allows a retry, in every form that servers use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonMapping

MAX_WAIT_S = 3600.0
"""A longer wait is a mistake: an epoch, or a date years ahead."""
_NUMBER = lazy_re(r"\d+(\.\d+)?")
_DURATION = lazy_re(r"(\d+(?:\.\d+)?)s")


def retry_after(headers: Mapping[str, str], body: JsonMapping, now: datetime) -> float | None:
    """Return the seconds to wait, or None if the server names no sensible time."""
    named = (
        _milliseconds(headers.get("retry-after-ms", "")),
        _seconds_or_date(headers.get("retry-after", ""), now),
        _retry_info(body),
    )
    return next(
        (seconds for seconds in named if seconds is not None and seconds <= MAX_WAIT_S), None
    )


def _milliseconds(text: str) -> float | None:
    return float(text) / 1000 if _NUMBER.fullmatch(text.strip()) else None


def _seconds_or_date(text: str, now: datetime) -> float | None:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _retry_info(body: JsonMapping) -> float | None:
    """Read google.rpc.RetryInfo, which the Gemini surface sends in place of a header."""
    details = objects(body.get("details")) or objects(as_object(body.get("error")).get("details"))
    for detail in details:
        if duration := _DURATION.fullmatch(string(detail, "retryDelay") or ""):
            return float(duration[1])
    return None
