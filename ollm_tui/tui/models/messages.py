"""What the models screen says below its table: memory, problems, how to get a model; pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import plural
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.figures import size

MOST_IN_MEMORY = 3
MOST_PROBLEMS = 4
_FOR_EVER_S = 10 * 365 * 86_400
_LONGEST = 500


def memory_lines(running: Mapping[ModelRef, ModelInfo], now: datetime) -> list[str]:
    """Write a line for each model in memory: how large, where, and until when."""
    lines = [_memory_line(ref, info, now) for ref, info in running.items()]
    more = len(lines) - MOST_IN_MEMORY
    return [*lines[:MOST_IN_MEMORY], *([f"and {more} more in memory"] if more > 0 else [])]


def _memory_line(ref: ModelRef, info: ModelInfo, now: datetime) -> str:
    taken = size(info.size_bytes) if info.size_bytes and info.size_bytes > 0 else ""
    size_and_place = ", ".join(part for part in (taken, _where(info)) if part)
    parts = (clean_name(ref.model[:_LONGEST]), size_and_place or "in memory", _left(info, now))
    return " · ".join(part for part in parts if part)


def _where(info: ModelInfo) -> str:
    there, total = info.details.get("size_vram"), info.size_bytes
    if not isinstance(there, int) or not total or total < 0:
        return ""
    return f"{min(100, max(0, round(100 * there / total)))} % GPU"


def _left(info: ModelInfo, now: datetime) -> str:
    left = seconds_left(info, now)
    if left is None:
        return ""
    if left > _FOR_EVER_S:
        return "stays"
    if left <= 0:
        return "unloading"
    if left < 60:
        return "less than a minute left"
    minutes = round(left / 60)
    return f"{minutes} min left" if minutes < 120 else f"{minutes // 60} h left"


def seconds_left(info: ModelInfo, now: datetime) -> float | None:
    """Give how long a model stays in memory when nobody asks it; None where nobody tells."""
    until = info.details.get("expires_at")
    if not isinstance(until, str):
        return None
    try:
        return (datetime.fromisoformat(until) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def problem_lines(listings: Iterable[Listing]) -> list[str]:
    """Write a line with the next step for each provider that gave no list."""
    lines = []
    for listing in listings:
        if listing.problem is not None:
            label, words = clean_name(listing.label[:_LONGEST]), clean_line(str(listing.problem))
            lines.append(words if words.startswith(label) else f"{label}: {words}")
    more = len(lines) - MOST_PROBLEMS
    return [*lines[:MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]


def count_words(shown: int, total: int, sorted_by: str) -> str:
    """Write how many models there are, how many are shown, and by what they are sorted."""
    count = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
    return f"{count} {plural(total, 'model')}" + (f", by {sorted_by}" if sorted_by else "")


def empty_words(
    listings: Sequence[Listing],
    query: str,
    *,
    is_asking: bool,
    again_key: str,
    find_key: str | None = None,
    beside: str = "",
) -> str:
    """Say why the table is empty, and how to get a model; `beside` is what else there is."""
    has_models = any(listing.models for listing in listings)
    if has_models:
        elsewhere = f"\n\n{find_key} searches for models to download." if find_key else ""
        return f"No model matches {clean_line(query)!r}.{elsewhere}"
    if is_asking:
        return "Loading models…"
    find = f"Press {find_key} to find and download one.\n" if find_key else ""
    steps = (
        f"{find}"
        f"{'Or start' if find else 'Start'} an engine, `ollama serve` in another terminal, "
        f"and press {again_key};\nthen `ollm models pull qwen3:4b` downloads a model."
    )
    if beside:
        steps = f"{steps}\n\n{clean_line(beside)}"
    if any(listing.problem is not None for listing in listings):
        return f"No models available.\n\n{steps}"
    return f"No models are installed.\n\n{steps}"
