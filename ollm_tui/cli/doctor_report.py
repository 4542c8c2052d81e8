"""What surrounds the program, and findings without keys: value by value.

A key may be an ordinary word. So only what came from outside is searched for it, and a sentence
that may quote something is searched whole; what the program always says stays as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ollm_tui.decode.clean import clean_line
from ollm_tui.runtime.checkup import Checkup, ProviderCheck

Private = Callable[[str], str]


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
    plugins: tuple[tuple[bool, str], ...] = ()
    """What installed packages bring: whether it is in order, and a sentence."""


def private_checkup(checkup: Checkup, private: Private) -> Checkup:
    """Redact a checkup."""
    return replace(
        checkup,
        providers=tuple(_private_provider(check, private) for check in checkup.providers),
        quiet=tuple(
            (_redacted(label, private), _redacted(place, private)) for label, place in checkup.quiet
        ),
        others=replace(
            checkup.others,
            folders=tuple(
                replace(one, path=_redacted(one.path, private)) for one in checkup.others.folders
            ),
        ),
        model=_redacted_or_none(checkup.model, private),
        shown_model=_redacted_or_none(checkup.shown_model, private),
        reason=_redacted(checkup.reason, private),
        advice=checkup.advice
        if checkup.is_own_advice
        else _redacted_or_none(checkup.advice, private),
    )


def private_report(report: SystemReport, private: Private) -> SystemReport:
    """Redact a system report."""
    return replace(
        report,
        system=_redacted(report.system, private),
        settings_file=_redacted(report.settings_file, private),
        problems=tuple(
            (severity, _redacted(message, private)) for severity, message in report.problems
        ),
        folders=tuple(replace(one, path=_redacted(one.path, private)) for one in report.folders),
        chats=(report.chats[0], _redacted(report.chats[1], private)),
        plugins=tuple((is_right, _redacted(words, private)) for is_right, words in report.plugins),
        terminal=tuple((name, _redacted(value, private)) for name, value in report.terminal),
    )


def _private_provider(check: ProviderCheck, private: Private) -> ProviderCheck:
    return replace(
        check,
        name=_redacted(check.name, private),
        shown_name=_redacted(check.shown_name, private),
        label=_redacted(check.label, private),
        address=_redacted_or_none(check.address, private),
        engine=_redacted_or_none(check.engine, private),
        version=_redacted_or_none(check.version, private),
        answering=tuple(_redacted(one, private) for one in check.answering),
        silent=tuple(_redacted(one, private) for one in check.silent),
        problem=_redacted_or_none(check.problem, private),
        advice=check.advice if check.is_own_advice else _redacted_or_none(check.advice, private),
    )


def _redacted(text: str, private: Private) -> str:
    return private(clean_line(text))


def _redacted_or_none(text: str | None, private: Private) -> str | None:
    return None if text is None else _redacted(text, private)
