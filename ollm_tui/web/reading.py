"""The readable text of a loaded page: HTML is read by a child process within limits."""

import importlib.util
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio
from anyio.abc import Process

from ollm_tui.decode.clean import clean_line
from ollm_tui.web.charsets import decoded, is_binary
from ollm_tui.web.page import LoadedPage, LoadFailure

READING_S: Final = 3.0
MOST_TEXT_BYTES: Final = 250_000
MISSING_PACKAGE: Final = "The package trafilatura is not installed: pip install 'ollm-tui[web]'."
_CHILD: Final = (sys.executable, "-P", "-m", "ollm_tui.web.extract_child")
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/yaml"),
        *("application/x-yaml", "application/toml", "application/x-ndjson", "application/sql"),
    }
)
_LEAST_SHARE: Final = 200
"""Characters of a main text below which all text of the page is taken."""
_LONGEST_LINE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says."""

    title: str
    text: str
    note: str = ""
    """What is left out, and why."""


def can_read_html() -> bool:
    """Whether the package is installed that finds the text of pages."""
    return importlib.util.find_spec("trafilatura") is not None


def is_text(page: LoadedPage) -> bool:
    """Whether a page is text by its type or its beginning; types may lie."""
    kind = page.media_type
    named = not kind or kind.startswith("text/") or kind.endswith(("+json", "+xml"))
    return not is_binary(bytes(page.body[:2000])) and (named or kind in _HTML or kind in _TEXT)


class PageReader:
    """The child process that reads one page; start it while the page is loading."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> "PageReader":
        """Start the process.

        Raises:
            LoadFailure: it cannot be started.
        """
        environment = {"PATH": os.defpath, "PYTHONUTF8": "1", "LANG": "C.UTF-8"}
        try:
            process = await anyio.open_process(
                _CHILD, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
            )
        except OSError:
            raise LoadFailure("The process that reads pages cannot be started.") from None
        return cls(process)

    async def close(self) -> None:
        """End the process."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.aclose()

    async def read(self, page: LoadedPage) -> PageText:
        """Return the text of a page.

        Raises:
            LoadFailure: it has none.
        """
        if page.media_type not in _HTML and not _looks_like_html(page.body):
            return _bounded("", decoded(bytes(page.body[: MOST_TEXT_BYTES * 4]), page.charset))
        texts: dict[str, str] = {}
        with anyio.move_on_after(READING_S):
            await self._ask(page, texts)
        if "plain" not in texts:
            raise LoadFailure(f"The text of the page could not be found within {READING_S:g} s.")
        main = texts.get("text", "")
        text = main if len(main) >= min(_LEAST_SHARE, len(texts["plain"])) else texts["plain"]
        return _bounded(clean_line(texts.get("title", "")), text)

    async def _ask(self, page: LoadedPage, texts: dict[str, str]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        head = json.dumps({"url": page.address.url, "charset": page.charset})
        # a child that ended early has said what it could
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(f"{head}\n".encode())
            await self._process.stdin.send(bytes(page.body))
        await self._process.stdin.aclose()
        line = bytearray()
        async for data in self._process.stdout:
            line += data
            while b"\n" in line:
                whole, _end, rest = line.partition(b"\n")
                line = bytearray(rest)
                values = json.loads(whole)
                texts |= {str(name): str(value) for name, value in values.items()}
            if len(line) > _LONGEST_LINE:
                return


def _looks_like_html(body: bytearray) -> bool:
    start = bytes(body[:500]).lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _bounded(title: str, text: str) -> PageText:
    data = text.encode("utf-8", "replace")
    if len(data) <= MOST_TEXT_BYTES:
        return PageText(title, text)
    kept = data[:MOST_TEXT_BYTES].decode("utf-8", "ignore")
    return PageText(title, kept, "over 250 kB of text")
