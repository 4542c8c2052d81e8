"""How numbers are written for people: sizes, times, token counts and rates, with their units."""

from typing import TYPE_CHECKING, Final

from ollm_tui.decode.counted import alternatives, counted, plural, size_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from ollm_tui.protocol.blocks import MediaContent

    # the status line needs only the arithmetic, and that before the first frame
    from ollm_tui.protocol.chat_events import ContextWarning, NoAnswer, PromptProgress, Retrying
    from ollm_tui.protocol.message import FinishReason, Timings, Usage

WHOLE = "Streaming is not available; the answer comes all at once."
ELSEWHERE = "Trying another server."


def seconds(value: float) -> str:
    """Write a duration: `3 ms`, `0.31 s`, `0.5 s`, `3.2 s`, `12 s`, `2 min 5 s`."""
    if 0 <= value < 0.0095:
        return f"{value * 1000:.0f} ms" if value >= 0.0005 else "under 1 ms"
    if value < 9.95:
        digits = f"{value:.2f}" if value < 1 else f"{value:.1f}"
        return f"{digits.rstrip('0').rstrip('.')} s"
    if value < 59.5:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def clock_time(value: float) -> str:
    """Return a time as `1:05`."""
    minutes, rest = divmod(int(value), 60)
    return f"{minutes}:{rest:02}"


def tokens(count: int) -> str:
    """Write a token count: `812`, `3.1k`, `32k`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def window(count: int) -> str:
    """Write a context window; most are powers of two: 32768 is known as `32k`."""
    return f"{count // 1024}k" if count % 1024 == 0 else tokens(count)


def amount(completed: int, total: int | None) -> str:
    """Write how much of something is there: `2.1 of 5.2 GB`, `640 MB of 5.2 GB`, `640 MB`."""
    if total is None:
        return size_text(completed)
    have, whole = size_text(completed), size_text(total)
    number, _, unit = have.partition(" ")
    return f"{number if whole.endswith(f' {unit}') else have} of {whole}"


def time_left(value: float) -> str:
    """Write how long something will take, as near as matters: `42 s`, `12 min`, `2 h 5 min`."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 3600:
        return f"{whole // 60} min"
    hours = whole // 3600
    return f"{hours} h {whole % 3600 // 60} min" if hours < 48 else f"{hours // 24} days"


def stay_text(left_s: float) -> str:
    """Write how long a model stays loaded, as near as matters: `40 s`, `5 min`, `2 h`."""
    if left_s < 59.5:
        return f"{left_s:.0f} s"
    if left_s < 3570:
        return f"{left_s / 60:.0f} min"
    return f"{left_s / 3600:.0f} h"


def count(number: int) -> str:
    """Write a number of downloads or likes: `812`, `12k`, `3.4M`."""
    if number < 1000:
        return str(number)
    for value, unit in ((number / 1e3, "k"), (number / 1e6, "M")):
        if value < 999.5:
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{number / 1e9:.1f}G"


def popularity(number: int | None, noun: str, when: str = "") -> str:
    """Write how often a model was downloaded or liked: `12k downloads/month`, `1 like`."""
    return "" if number is None else f"{count(number)} {plural(number, noun)}{when}"


def parameters(number: int) -> str:
    """Write how many parameters a model has: `251k`, `135M`, `8.2B`, `70B`."""
    if number < 999_500:
        return f"{number / 1e3:.0f}k"
    if number < 999_500_000:
        return f"{number / 1e6:.0f}M"
    billions = number / 1e9
    return f"{billions:.1f}B" if billions < 9.95 else f"{billions:.0f}B"


def rate(tokens_per_s: float) -> str:
    """Write how fast tokens come: `3.4 tok/s`, `42 tok/s`."""
    return f"{tokens_per_s:.0f} tok/s" if tokens_per_s >= 10 else f"{tokens_per_s:.1f} tok/s"


def stats_line(usage: "Usage | None", timings: "Timings | None") -> str:
    """Write what the server reported of one answer, or nothing."""
    parts = []
    if usage and usage.completion_tokens is not None:
        parts.append(counted(usage.completion_tokens, "token"))
    if timings and timings.tokens_per_s is not None:
        parts.append(rate(timings.tokens_per_s))
    if timings and timings.first_token_s is not None:
        parts.append(f"first token {seconds(timings.first_token_s)}")
    return " · ".join(parts)


def context_note(event: "ContextWarning") -> str:
    """Return a sentence about a prompt that nears the end of the window."""
    about = "about " if event.estimated else ""
    if event.used > event.limit:  # only an assumed window lets it through
        return f"The chat has {about}{event.used:,} tokens, which may not fit the window."
    return f"The chat uses {about}{event.used:,} of the model's {event.limit:,} tokens."


def retry_note(event: "Retrying") -> str:
    """Return a sentence about a request that is sent again."""
    # the status line needs only the arithmetic, and that before the first frame
    from ollm_tui.protocol.errors import ErrorCode

    at_once = WHOLE if event.error.code == ErrorCode.UNSUPPORTED_FEATURE else ELSEWHERE
    again = f"Retrying in {seconds(event.wait_s)}." if event.wait_s else at_once
    return f"{event.why} {event.instead or again}"


def share_done(event: "PromptProgress") -> str:
    """Write how far the prompt is read: `41 %`; empty if that is not known."""
    if not event.total or event.done is None:
        return ""
    return f"{min(100, 100 * event.done // event.total)} %"


def finish_note(reason: "FinishReason", no_answer: "NoAnswer | None" = None) -> str:
    """Return what is special about the end of an answer, or an empty text."""
    if reason == "length":
        return "The answer reached its length limit (max_tokens, or a full context)."
    if reason in {"content_filter", "refusal"}:
        return "The server's content filter stopped the answer."
    if reason == "pause":
        return "The server paused the answer. Ask it to continue."
    return no_answer.message if no_answer is not None else ""


TOKEN_WORDS: Final = {"image": "Image", "audio": "Audio", "video": "Video", "document": "PDF"}
"""By the type of content, the word for it in a draft: `[Audio #1]`."""
_MEDIA_WORDS: Final = {
    "image": ("picture", "pictures"),
    "audio": ("sound", "sound"),
    "video": ("video", "videos"),
    "document": ("PDF file", "PDF files"),
}


def left_out_note(count: int, model: str, kinds: "Collection[str]" = ("image",)) -> str:
    """Return a sentence about attachments that are not sent."""
    known = [words for kind, words in _MEDIA_WORDS.items() if kind in kinds]
    noun = known[0][0] if len(known) == 1 else "attachment"
    them = f"{counted(count, noun)} of this chat {'is' if count == 1 else 'are'} not sent."
    if set(kinds) == {"image"}:
        return f"{model} accepts text only: {them}"
    return f"{model} does not accept {alternatives([many for _, many in known])}: {them}"


def media_figures(block: "MediaContent") -> str:
    """Write what is attached: `png · 640 x 480 · 94 kB`, `wav · 2.1 s · 64 kB`, `pdf · 1.2 MB`."""
    # the status line needs only the arithmetic, and that before the first frame
    from ollm_tui.decode.images import image_data

    kind = (block.mime_type or "").partition("/")[2]
    data = image_data(block.data, block.url)
    width, height = getattr(block, "width", None), getattr(block, "height", None)
    length = getattr(block, "duration_s", None)
    parts = (
        {"mpeg": "mp3", "quicktime": "mov", "x-msvideo": "avi"}.get(kind, kind),
        f"{width} x {height}" if width and height else "",
        seconds(length) if length else "",
        size_text(data.size) if data is not None else "",
    )
    return " · ".join(part for part in parts if part)
