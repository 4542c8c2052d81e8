"""A checkup in sentences, a finding a line; below some of them the next step, after an arrow."""

from collections.abc import Iterator, Mapping
from typing import Final

from ollm_tui.decode.counted import plural
from ollm_tui.runtime.checkup import Checkup, ProviderCheck
from ollm_tui.runtime.other_models import count_of

ARROW: Final = "->"
_WORDS: Final[Mapping[str, str]] = {"ok": "ok", "empty": "--", "absent": "--", "failed": "!!"}
_ABILITIES: Final[Mapping[str, str]] = {
    "vision": "see pictures",
    "tools": "call tools",
    "thinking": "think",
    "embedding": "embed",
}


def provider_lines(found: Checkup) -> Iterator[str]:
    """Say who answers and what each can do, with text of servers as they sent it."""
    for check in found.providers:
        yield from _provider(check)
    if found.quiet:
        names = ", ".join(f"{label} ({address})" for label, address in found.quiet)
        yield f"   No answer for: {names}"


def _provider(check: ProviderCheck) -> Iterator[str]:
    who = check.engine or check.label
    version = f" {check.version}" if check.version else ""
    key = ", with a key" if check.has_key else ""
    shown = f"{who}{version}" if who != check.shown_name or version else ""
    head = f"{shown}{_place(check)}{key}".lstrip(" ,")
    if check.state in {"ok", "empty"}:
        head += f", {_count(check.chat_models, 'model')} to chat with"
    yield f"{_WORDS[check.state]} {check.shown_name}: {head}"
    if check.problem:
        yield f"   {check.problem}"
    if check.answering:
        yield f"   answer from {', '.join(check.answering)}"
    if check.silent and not check.problem:
        yield f"   no answer from {', '.join(check.silent)}"
    if check.abilities:
        yield f"   of these {_abilities(check)}"
    if check.offers and check.state in {"ok", "empty"}:
        yield f"   can {', '.join(check.offers)}"
    if check.advice:
        yield f"   -> {check.advice}"


def _place(check: ProviderCheck) -> str:
    """Say where it answers, or how many servers of a pool do."""
    size = len(check.answering) + len(check.silent)
    if size:
        return f", {len(check.answering)} of {size} servers answer"
    place = f" at {check.address}" if check.address else ""
    return f"{place}, {check.latency_ms} ms" if check.latency_ms is not None else place


def _abilities(check: ProviderCheck) -> str:
    parts = []
    for name, (known, assumed) in check.abilities.items():
        numbers = [str(known)] if known else []
        numbers += [f"{assumed} assumed to"] if assumed else []
        parts.append(f"{' and '.join(numbers)} {_ABILITIES[name]}")
    return ", ".join(parts)


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {plural(number, thing)}"


def engine_lines(found: Checkup) -> Iterator[str]:
    """Say whether models run without a server."""
    if found.engine_installed:
        yield "ok engine: installed"
    else:
        yield "-- engine: not installed"
        yield "   -> `pip install xllamacpp` adds one that needs no server."
    if found.starter_fetched:
        yield "ok starter model: downloaded"
    else:
        yield "-- starter model: not downloaded"
        yield "   -> `ollm models starter` downloads a small one."
    for folder in found.others.folders:
        listed = ", which are listed" if folder.is_listed and folder.models else ""
        sign = "ok" if listed or not folder.models else "--"
        yield f"{sign} {folder.title}: {folder.path} holds {count_of(folder.models)}{listed}"
    if found.others.setting:
        yield f"   -> `{found.others.setting}` below [embedded] has them listed."


def result_lines(found: Checkup) -> Iterator[str]:
    """Say whether one can chat."""
    if found.model is None:
        yield f"!! You cannot chat yet: {found.reason.rstrip('.')}."
    else:
        yield f"ok New chats use {found.shown_model}, {found.reason}."
    if found.advice:
        yield f"   -> {found.advice}"
