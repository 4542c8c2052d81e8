"""Texts that the user uses again: Markdown files in a folder, filled with what is written after."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import is_there, read_bounded, why_unreadable
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_BYTES: Final = 200_000
MAX_LISTED: Final = 500
_NAME: Final = lazy_re(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MAX_LINE_LENGTH: Final = 80
PLACEHOLDER: Final = lazy_re(r"\{\{ ?(?P<name>[A-Za-z_][A-Za-z0-9_ -]{0,39}?) ?\}\}")
_MARK: Final = lazy_re(rf"{PLACEHOLDER.pattern}|\$(?P<all>ARGUMENTS)\b|\$(?P<number>[1-9])(?!\d)")


class SnippetFolder:
    """Snippets by name, each in its file; every method blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def listed(self) -> Mapping[str, str]:
        """Return the names, each with the first line of its text."""
        try:
            files = sorted(self.folder.glob("*.md"))[:MAX_LISTED]
        except OSError:
            return {}
        return {file.stem: _first_line(file) for file in files if _NAME.fullmatch(file.stem)}

    def read(self, name: str) -> str:
        """Return the text of a snippet.

        Raises:
            AIError: there is none, or it cannot be read.
        """
        path = self._path(name)
        try:
            return read_bounded(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
        except FileNotFoundError:
            raise _refusal(f"No snippet “{name}”.", "/snippet lists them.") from None
        except (OSError, ValueError) as error:
            raise _refusal(f"{path} cannot be read: {why_unreadable(error)}.") from error

    def write(self, name: str, text: str, *, replaces: bool) -> Path:
        """Write a snippet and return its file.

        Raises:
            AIError: it cannot be written, or there is one and `replaces` is False.
        """
        path, data = self._path(name), text.encode("utf-8", "replace")
        if not replaces and is_there(path):
            raise _refusal(f"There is a snippet “{name}” already.", f"/snippet edit {name}")
        if not text.strip() or len(data) > MAX_BYTES:
            raise _refusal(f"A snippet has 1 to {MAX_BYTES // 1000} kB of text.")
        try:
            # a link in the place of the file stays one
            write_private(path.resolve() if path.is_symlink() else path, data)
        except OSError as error:
            raise _refusal(f"{path} cannot be written: {why_unreadable(error)}.") from error
        return path

    def remove(self, name: str) -> None:
        """Remove a snippet.

        Raises:
            AIError: there is none, or it cannot be removed.
        """
        path = self._path(name)
        try:
            path.unlink()
        except FileNotFoundError:
            raise _refusal(f"No snippet “{name}”.", "/snippet lists them.") from None
        except OSError as error:
            raise _refusal(f"{path} cannot be removed: {why_unreadable(error)}.") from error

    def _path(self, name: str) -> Path:
        if _NAME.fullmatch(name) is None:
            raise _refusal("The name of a snippet has letters, digits, - and _ only.")
        return self.folder / f"{name}.md"


def _first_line(file: Path) -> str:
    try:
        text = read_bounded(file, MAX_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        return why_unreadable(error)
    return next(iter(text.strip().splitlines()), "")[:_MAX_LINE_LENGTH]


def _refusal(sentence: str, hint: str | None = None) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence, hint=hint)


def filled(text: str, arguments: str) -> str:
    """Fill a snippet: `{{name}}` by `name=value`, `$ARGUMENTS` by all, `$1` to `$9` by one word.

    Arguments that nothing asks for fill the first placeholder, else they follow the text. What is
    filled in is never filled again, and a placeholder without a value stays.
    """
    names = {match["name"] for match in PLACEHOLDER.finditer(text)}
    values, words = _named(arguments, names)
    rest = " ".join(words) if values else arguments.strip()
    asks = any(match["all"] or match["number"] for match in _MARK.finditer(text))
    open_names = [one["name"] for one in PLACEHOLDER.finditer(text) if one["name"] not in values]
    if rest and not asks and open_names:
        values[open_names[0]] = rest
    elif rest and not asks:
        return f"{_substituted(text.rstrip(), values, words, rest)}\n\n{rest}"
    return _substituted(text, values, words, rest)


def _substituted(text: str, values: Mapping[str, str], words: list[str], rest: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match["name"] is not None:
            return values.get(match["name"], match[0])
        if match["all"]:
            return rest
        number = int(match["number"])
        return words[number - 1] if number <= len(words) else ("" if words else match[0])

    return _MARK.sub(value, text)


def _named(arguments: str, names: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return the values of placeholders that are named, and the other words."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # a quotation mark that is an apostrophe
        words = arguments.split()
    values: dict[str, str] = {}
    others: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            others.append(word)
    return values, others
