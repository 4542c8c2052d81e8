"""Why a stream failed that ended without its end marker, or with one that means a failure."""

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.error_body import is_markup
from ollm_tui.providers.http_errors import text_error
from ollm_tui.providers.http_faults import Endpoint, cut, nothing_sent, web_page


def gave_up(place: Endpoint, reason: str | None) -> AIError:
    """Give the error of an answer that the server ended for a reason of its own."""
    named = "" if reason is None or reason.lower() == "error" else f" ({reason[:100]})"
    return place.error(
        ErrorCode.ENGINE_ERROR,
        place.redacted(f"The server gave up in the middle of the answer{named}."),
        "Ask again.",
        fault="engine",
    )


def unfinished(place: Endpoint, bad: str | None, *, is_empty: bool) -> AIError:
    """Give the error; `bad` is the first piece that could not be read, `is_empty` if no other came.

    The unreadable piece is quoted: servers put their last words there as plain text.
    """
    words = (bad or "").strip()
    if not words:
        return nothing_sent(place) if is_empty else cut(place)
    if is_markup(words):
        return web_page(place)
    error = text_error(words, place)
    error.retryable = False  # the server has answered
    if not is_empty:
        error.code = ErrorCode.STREAM_INCOMPLETE
        error.hint = "What arrived is kept; try again for the rest."
    return error
