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
            (_told(label, private), _told(place, private)) for label, place in checkup.quiet
        ),
        others=replace(
            checkup.others,
            folders=tuple(
                replace(one, path=_told(one.path, private)) for one in checkup.others.folders
            ),
        ),
        model=_maybe(checkup.model, private),
        shown_model=_maybe(checkup.shown_model, private),
        reason=_told(checkup.reason, private),
        advice=checkup.advice if checkup.is_own_advice else _maybe(checkup.advice, private),
    )


def private_surroundings(report: SystemReport, private: Private) -> SystemReport:
    """Redact a system report."""
    return replace(
        report,
        system=_told(report.system, private),
        settings_file=_told(report.settings_file, private),
        problems=tuple(
            (severity, _told(message, private)) for severity, message in report.problems
        ),
        folders=tuple(replace(one, path=_told(one.path, private)) for one in report.folders),
        chats=(report.chats[0], _told(report.chats[1], private)),
        plugins=tuple((is_right, _told(words, private)) for is_right, words in report.plugins),
        terminal=tuple((name, _told(value, private)) for name, value in report.terminal),
    )


def _private_provider(check: ProviderCheck, private: Private) -> ProviderCheck:
    return replace(
        check,
        name=_told(check.name, private),
        shown_name=_told(check.shown_name, private),
        label=_told(check.label, private),
        address=_maybe(check.address, private),
        engine=_maybe(check.engine, private),
        version=_maybe(check.version, private),
        answering=tuple(_told(one, private) for one in check.answering),
        silent=tuple(_told(one, private) for one in check.silent),
        problem=_maybe(check.problem, private),
        advice=check.advice if check.is_own_advice else _maybe(check.advice, private),
    )


def _told(text: str, private: Private) -> str:
    return private(clean_line(text))


def _maybe(text: str | None, private: Private) -> str | None:
    return None if text is None else _told(text, private)
