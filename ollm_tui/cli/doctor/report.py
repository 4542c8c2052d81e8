"""The report of `ollm doctor`, without keys, as text and as JSON.

A key may be an ordinary word, so only what came from outside is searched for it.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.runtime.checkup import Checkup, ProviderCheck
from ollm_tui.runtime.media.engines_here import MediaEngine
from ollm_tui.runtime.other_models import OtherFolder, count_of

Private = Callable[[str], str]
WIDTH: Final = 80
MAX_LINE_LENGTH: Final = 300
"""Characters of one finding: a server may say much."""
ARROW: Final = "->"
_WORDS: Final[Mapping[str, str]] = {"ok": "ok", "empty": "--", "absent": "--", "failed": "!!"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of the app."""

    name: str
    path: str
    is_writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReport:
    """The environment of the program: settings, folders, terminal."""

    version: str
    system: str
    settings_file: str
    settings_there: bool
    problems: tuple[tuple[str, str], ...]
    """Severity and sentence."""
    keys: tuple[tuple[str, bool], ...]
    """Variables that hold keys, and whether they are set."""
    folders: tuple[Folder, ...]
    terminal: tuple[tuple[str, str], ...]
    chats: tuple[bool, str]
    """Whether the saved chats are in order, and a sentence about them."""
    key_origins: tuple[tuple[str, str], ...] = ()
    """Where the key of each provider that has one comes from."""
    plugins: tuple[tuple[bool, str], ...] = ()
    """Plugins: whether each works, and a sentence."""


T = TypeVar("T", Checkup, ProviderCheck, SystemReport, Folder, OtherFolder)


def private_checkup(checkup: Checkup, private: Private) -> Checkup:
    """Redact a checkup."""
    texts = ("quiet", "model", "shown_model", "reason")
    shown = _redacted(checkup, private, *texts, *(() if checkup.is_own_advice else ("advice",)))
    folders = tuple(_redacted(one, private, "path") for one in checkup.others.folders)
    return replace(
        shown,
        providers=tuple(_private_provider(check, private) for check in checkup.providers),
        others=replace(checkup.others, folders=folders),
    )


def private_report(report: SystemReport, private: Private) -> SystemReport:
    """Redact a system report."""
    return replace(
        _redacted(report, private, "system", "settings_file", "chats", "plugins"),
        problems=tuple((kind, private(clean_line(text))) for kind, text in report.problems),
        key_origins=tuple(
            (clean_line(name), private(clean_line(origin))) for name, origin in report.key_origins
        ),
        folders=tuple(_redacted(one, private, "path") for one in report.folders),
        terminal=tuple((name, private(clean_line(value))) for name, value in report.terminal),
    )


def _private_provider(check: ProviderCheck, private: Private) -> ProviderCheck:
    texts = ("name", "shown_name", "label", "address", "engine", "version", "answering", "silent")
    advice = () if check.is_own_advice else ("advice",)
    return _redacted(check, private, *texts, "problem", *advice)


def _redacted(value: T, private: Private, *names: str) -> T:
    """Redact these fields of a dataclass: texts, and the texts in tuples."""
    return replace(value, **{name: _hidden(getattr(value, name), private) for name in names})


def _hidden(value: object, private: Private) -> Any:
    match value:
        case str():
            return private(clean_line(value))
        case tuple():
            return tuple(_hidden(one, private) for one in value)
        case _:
            return value


def as_text(checkup: Checkup, report: SystemReport) -> Iterator[str]:
    """Write the report, a line at a time."""
    yield from _section(f"ollm {report.version} · {report.system}", ())
    yield from _section("Models and servers", provider_lines(checkup))
    yield from _section("Without a server", engine_lines(checkup))
    yield from _section("Sound and pictures", media_lines(checkup))
    yield from _section("Settings", _settings(report))
    yield from _section("Folders", _folders(report))
    is_right, words = report.chats
    yield from _section("Saved chats", [f"{'ok' if is_right else '!!'} {words}"])
    if report.plugins:
        marked = (f"{'ok' if is_right else '!!'} {words}" for is_right, words in report.plugins)
        yield from _section("Plugins", marked)
    terminal = (f"   {name}: {value}" for name, value in report.terminal if value)
    yield from _section("Terminal", terminal)
    yield from _section("Result", result_lines(checkup))


def _section(head: str, lines: Iterable[str]) -> Iterator[str]:
    yield from _wrapped(clean_line(head), "")
    for line in lines:
        text = clean_line(line)[:MAX_LINE_LENGTH]
        yield from _wrapped(text, " " * (6 if text.lstrip().startswith(ARROW) else 3))
    yield ""


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def _folders(report: SystemReport) -> Iterator[str]:
    for folder in report.folders:
        yield f"{'ok' if folder.is_writable else '!!'} {folder.name}: {folder.path}"
        if not folder.is_writable:
            yield "   -> It is not writable: check its permissions."


def _settings(report: SystemReport) -> Iterator[str]:
    remark = "" if report.settings_there else " (no such file; using the defaults)"
    is_right = not any(severity == "error" for severity, _ in report.problems)
    yield f"{'ok' if is_right else '!!'} file: {report.settings_file}{remark}"
    for severity, sentence in report.problems:
        yield f"{'!!' if severity == 'error' else '--'} {sentence}"
    if report.problems:
        yield "   -> `ollm config check` lists what is wrong."
    keys = ", ".join(f"{name} {'set' if is_set else 'not set'}" for name, is_set in report.keys)
    yield f"   keys: {keys}"
    for name, origin in report.key_origins:
        yield f"   key of {name}: {origin}"


def as_json(checkup: Checkup, report: SystemReport) -> JsonObject:
    """Write the report for a program; every text of a server is cleaned."""
    return {
        "version": report.version,
        "system": report.system,
        "can_chat": checkup.model is not None,
        "model": _clean(checkup.model),
        "reason": clean_line(checkup.reason),
        "advice": checkup.advice,
        "providers": [_provider_json(check) for check in checkup.providers],
        "not_found": [{"label": label, "address": place} for label, place in checkup.quiet],
        "engine_installed": checkup.engine_installed,
        "engine_program": checkup.engine_program,
        "starter_fetched": checkup.starter_fetched,
        "other_folders": [
            {
                "program": one.title,
                "path": _clean(one.path),
                "models": one.models,
                "listed": one.is_listed,
            }
            for one in checkup.others.folders
        ],
        "other_folders_setting": checkup.others.setting or None,
        "media": [_media_json(one) for one in checkup.media],
        "settings": {
            "file": report.settings_file,
            "exists": report.settings_there,
            "problems": [
                {"severity": severity, "message": message} for severity, message in report.problems
            ],
        },
        "keys": dict(report.keys),
        "key_origins": dict(report.key_origins),
        "folders": [
            {"name": one.name, "path": one.path, "writable": one.is_writable}
            for one in report.folders
        ],
        "saved_chats": {"ok": report.chats[0], "message": report.chats[1]},
        "plugins": [
            {"ok": is_right, "message": clean_line(words)} for is_right, words in report.plugins
        ],
        "terminal": dict(report.terminal),
    }


def _media_json(one: MediaEngine) -> JsonObject:
    return {
        "task": one.task,
        "name": clean_line(one.name),
        "version": one.version,
        "problem": _clean(one.problem),
        "advice": one.advice,
    }


def _provider_json(check: ProviderCheck) -> JsonObject:
    return {
        "name": check.name,
        "label": _clean(check.label),
        "state": check.state,
        "address": check.address,
        "engine": check.engine,
        "version": check.version,
        "latency_ms": check.latency_ms,
        "has_key": check.has_key,
        "models": check.models,
        "chat_models": check.chat_models,
        "abilities": {
            name: {"known": known, "assumed": assumed}
            for name, (known, assumed) in check.abilities.items()
        },
        "offers": [*check.offers],
        "answer": [*check.answering],
        "no_answer": [*check.silent],
        "problem": _clean(check.problem),
        "advice": _clean(check.advice),
    }


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_line(text[:MAX_LINE_LENGTH])


def provider_lines(checkup: Checkup) -> Iterator[str]:
    """Yield the providers that answer and what each can do; text of servers is not cleaned."""
    for check in checkup.providers:
        yield from _provider(check)
    if checkup.quiet:
        names = ", ".join(f"{label} ({address})" for label, address in checkup.quiet)
        yield f"   No answer for: {names}"


def _provider(check: ProviderCheck) -> Iterator[str]:
    who = check.engine or check.label
    version = f" {check.version}" if check.version else ""
    key = ", with a key" if check.has_key else ""
    shown = f"{who}{version}" if who != check.shown_name or version else ""
    head = f"{shown}{_place(check)}{key}".lstrip(" ,")
    if check.state in {"ok", "empty"}:
        head += f", {count_of(check.chat_models)} to chat with"
    yield f"{_WORDS[check.state]} {check.shown_name}: {head}"
    if check.problem:
        yield f"   {check.problem}"
    if check.answering:
        yield f"   answer from {', '.join(check.answering)}"
    if check.silent and not check.problem:
        yield f"   no answer from {', '.join(check.silent)}"
    if check.abilities:
        yield f"   {_abilities_line(check)}"
    if check.offers and check.state in {"ok", "empty"}:
        yield f"   can {', '.join(check.offers)}"
    if check.advice:
        yield f"   -> {check.advice}"


def _place(check: ProviderCheck) -> str:
    """Return where it answers, or how many servers of a pool do."""
    size = len(check.answering) + len(check.silent)
    if size:
        return f", {len(check.answering)} of {size} servers answer"
    place = f" at {check.address}" if check.address else ""
    return f"{place}, {check.latency_ms} ms" if check.latency_ms is not None else place


def _abilities_line(check: ProviderCheck) -> str:
    parts = []
    for name, (known, assumed) in check.abilities.items():
        rest = f"{assumed} more assumed" if known else "assumed"
        parts.append(f"{name}: {known or assumed}{f' ({rest})' if assumed else ''}")
    return "; ".join(parts)


def engine_lines(checkup: Checkup) -> Iterator[str]:
    """Yield whether models run without a server."""
    if checkup.engine_program is not None and not checkup.engine_installed:
        yield f"-- engine: {checkup.engine_program} does not exist"
        yield "   -> Change or remove server below [embedded]."
    elif checkup.engine_program is not None:
        yield f"ok engine: {checkup.engine_program}"
    elif checkup.engine_installed:
        yield "ok engine: installed"
    else:
        yield "-- engine: not installed"
        yield "   -> Install it in ollm's environment: pip install xllamacpp."
    if checkup.starter_fetched:
        yield "ok starter model: downloaded"
    else:
        yield "-- starter model: not downloaded"
        yield "   -> `ollm models starter` downloads a small one."
    for folder in checkup.others.folders:
        listed = ", which are listed" if folder.is_listed and folder.models else ""
        sign = "ok" if listed or not folder.models else "--"
        yield f"{sign} {folder.title}: {folder.path} holds {count_of(folder.models)}{listed}"
    if checkup.others.setting:
        yield f"   -> `{checkup.others.setting}` below [embedded] has them listed."


def media_lines(checkup: Checkup) -> Iterator[str]:
    """Yield what transcribes, speaks, draws, records and plays, and what adds what is missing."""
    for one in checkup.media:
        version = f" {one.version}" if one.version else ""
        if one.problem is None:
            yield f"ok {one.task}: {one.name}{version}"
        else:
            name = f"{one.name}{version}, " if one.name != "sound" else ""
            yield f"-- {one.task}: {name}{one.problem}"
        if one.advice:
            yield f"   -> {one.advice}"


def result_lines(checkup: Checkup) -> Iterator[str]:
    """Yield whether you can chat."""
    if checkup.model is None:
        yield f"!! You cannot chat yet: {checkup.reason.rstrip('.')}."
    else:
        yield f"ok New chats use {checkup.shown_model}, {checkup.reason}."
    if checkup.advice:
        yield f"   -> {checkup.advice}"
