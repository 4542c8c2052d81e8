"""Messages about models: the lines below the table, and why a model or a list is missing."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import alternatives, plural, size_text
from ollm_tui.frontend.model_facts import FOREVER_S, seconds_left
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.router import same_model
from ollm_tui.runtime.model_lookup import gpu_share_of
from ollm_tui.tui.models.entry import MAX_LENGTH

MAX_IN_MEMORY = 3
MAX_PROBLEMS = 4


def memory_lines(running: Mapping[ModelRef, ModelInfo], now: datetime) -> list[str]:
    """Return a line for each loaded model: its size, where it is and until when."""
    lines = [_memory_line(ref, info, now) for ref, info in running.items()]
    return _first(lines, MAX_IN_MEMORY, "more in memory")


def _first(lines: list[str], most: int, more: str) -> list[str]:
    rest = len(lines) - most
    return [*lines[:most], f"and {rest} {more}"] if rest > 0 else lines


def _memory_line(ref: ModelRef, info: ModelInfo, now: datetime) -> str:
    amount = size_text(info.size_bytes) if info.size_bytes and info.size_bytes > 0 else ""
    share = gpu_share_of(info)
    on_gpu = "" if share is None else f"{round(100 * share)} % GPU"
    memory = ", ".join(part for part in (amount, on_gpu) if part)
    parts = (clean_name(ref.model[:MAX_LENGTH]), memory or "in memory", _time_left(info, now))
    return " · ".join(part for part in parts if part)


def _time_left(info: ModelInfo, now: datetime) -> str:
    left = seconds_left(info.details.get("expires_at"), now)
    if left is None:
        return ""
    if left > FOREVER_S:
        return "stays"
    if left <= 0:
        return "unloading"
    if left < 60:
        return "less than a minute left"
    minutes = round(left / 60)
    return f"{minutes} min left" if minutes < 120 else f"{minutes // 60} h left"


def problem_lines(listings: Iterable[Listing]) -> list[str]:
    """Return a line with the next step for each provider without a list, at most a few."""
    lines = [problem_line(one.label, str(one.problem)) for one in listings if one.problem]
    return _first(lines, MAX_PROBLEMS, "more")


def problem_line(label: str, problem: str) -> str:
    """Return a problem with the name of its provider in front, unless it begins with it."""
    name, words = clean_name(label[:MAX_LENGTH]), clean_line(problem)
    return words if words.startswith(name) else f"{name}: {words}"


def count_words(shown: int, total: int, sorted_by: str) -> str:
    """Return how many models there are, how many are shown, and by what they are sorted."""
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
    """Return why the table is empty and how to get a model.

    `again_key` loads the lists again, `find_key` opens the model search; `beside` is a sentence on
    the models in the folders of other programs.
    """
    if any(listing.models for listing in listings):
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
    has_problem = any(listing.problem is not None for listing in listings)
    first = "No models available." if has_problem else "No models are installed."
    return "\n\n".join((first, steps, *([clean_line(beside)] if beside else ())))


class ModelFacts(Vertical):
    """Lines below the table of models; an empty one takes no room."""

    DEFAULT_CSS = """
    ModelFacts {
        height: auto;
        & > Static { display: none; height: auto; max-height: 5; padding: 0 2; }
        & > Static.-shown { display: block; }
        #problems { color: $text-warning; }
        #memory { color: $text-muted; }
        #sentence.-error { color: $text-error; }
        &:ansi #memory { text-style: dim; }
    }
    """

    def compose(self) -> ComposeResult:
        """Lay out the lines."""
        for name in ("problems", "memory", "sentence"):
            yield Static("", id=name, markup=False)

    def show(
        self,
        problems: Sequence[str],
        memory: Sequence[str],
        sentence: Sequence[str],
        *,
        is_error: bool,
    ) -> None:
        """Show which providers gave no list, which models are loaded, and what is in progress."""
        self.query_one("#sentence").set_class(is_error, "-error")
        shown = {"#problems": problems, "#memory": memory, "#sentence": sentence}
        for selector, lines in shown.items():
            line = self.query_one(selector, Static)
            line.set_class(bool(lines), "-shown")
            line.update(Content("\n".join(lines)))


def unlisted_words(catalog: ModelCatalog, ref: ModelRef, key: str) -> tuple[str, str | None] | None:
    """Return a message and a hint if the provider's list does not have a model; else None.

    `key` opens the list. The model stays selected: a service may have more models than it lists.
    """
    listing = next((one for one in catalog.cached() if one.provider == ref.provider), None)
    if listing is None or not listing.models or listing.problem is not None:
        return None
    names = [info.name for info in listing.models]
    if any(same_model(ref.model, name) for name in names):
        return None
    # Loaded only for a model that is gone.
    import difflib

    near = difflib.get_close_matches(ref.model, names, n=3, cutoff=0.5)
    shown = (catalog.shown_address(ModelRef(ref.provider, name)) for name in near)
    commands = [f"/model {clean_name(address)}" for address in shown]
    words = f"{clean_name(listing.label)} does not list a model named {clean_name(ref.model)}."
    return words, f"Did you mean {alternatives(commands)}?" if near else f"{key} lists what it has."
