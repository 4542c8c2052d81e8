"""The readable text of a loaded page: HTML is read by a child process within limits."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.web.charsets import decoded, is_binary
from ollm_tui.web.page import LoadedPage, LoadFailure

READING_S: Final = 3.0
MAX_TEXT_BYTES: Final = 250_000
MISSING_PACKAGE: Final = (
    "The package trafilatura is not installed. Install it in ollm's environment: "
    "pip install trafilatura lxml_html_clean."
)
_CHILD: Final = (sys.executable, "-P", "-m", "ollm_tui.web.extract_child")
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/yaml"),
        *("application/x-yaml", "application/toml", "application/x-ndjson", "application/sql"),
    }
)
_MIN_SHARE: Final = 200
"""Characters of a main text below which all text of the page is taken."""
_PIECE: Final = 64 * 1024
_MAX_LINE_LENGTH: Final = 4_000_000


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

    def __init__(self) -> None:
        """Start the process; blocks for some milliseconds."""
        self._popen = subprocess.Popen(
            _CHILD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={"PATH": os.defpath, "PYTHONUTF8": "1", "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._input, self._output = self._popen.stdin, self._popen.stdout
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)

    @classmethod
    async def start(cls) -> "PageReader":
        """Start the process.

        Raises:
            LoadFailure: it cannot be started.
        """
        with anyio.CancelScope(shield=True):  # what was started is closed by the caller
            try:
                reader = await anyio.to_thread.run_sync(cls)
            except OSError:
                raise LoadFailure("The process that reads pages cannot be started.") from None
        return reader

    def close(self) -> None:
        """End the process; it holds nothing that has to be left in order."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._input, self._output):
            pipe.close()

    async def read(self, page: LoadedPage, within_s: float = READING_S) -> PageText:
        """Return the text of a page.

        All of its text may take ``within_s``; its main text is waited for at most `READING_S`.

        Raises:
            LoadFailure: it has none.
        """
        if page.media_type not in _HTML and not _looks_like_html(page.body):
            return _bounded("", decoded(bytes(page.body[: MAX_TEXT_BYTES * 4]), page.charset))
        texts: dict[str, str] = {}
        began = anyio.current_time()
        with anyio.move_on_after(within_s) as waiting:
            async for part in self._ask(page):
                texts |= part
                waiting.deadline = min(waiting.deadline, began + READING_S)
        if "plain" not in texts:
            raise LoadFailure(f"The text of the page could not be found within {within_s:.1f} s.")
        main = texts.get("text", "")
        text = main if len(main) >= min(_MIN_SHARE, len(texts["plain"])) else texts["plain"]
        return _bounded(clean_line(texts.get("title", "")), text)

    async def _ask(self, page: LoadedPage) -> AsyncIterator[dict[str, str]]:
        head = json.dumps({"url": page.address.url, "charset": page.charset})
        # a child that ended early has said what it could
        with suppress(BrokenPipeError):
            await self._write(f"{head}\n".encode())
            await self._write(page.body)
        self._input.close()
        line = b""
        while (data := await self._read()) and len(line) < _MAX_LINE_LENGTH:
            *whole, line = (line + data).split(b"\n")
            for one in whole:
                yield {str(name): str(value) for name, value in json.loads(one).items()}

    async def _write(self, data: bytes | bytearray) -> None:
        rest = memoryview(data)
        while rest:
            await anyio.wait_writable(self._input)
            with suppress(BlockingIOError):
                rest = rest[os.write(self._input.fileno(), rest[:_PIECE]) :]

    async def _read(self) -> bytes:
        while True:
            await anyio.wait_readable(self._output)
            with suppress(BlockingIOError):
                return os.read(self._output.fileno(), _PIECE)


def _looks_like_html(body: bytearray) -> bool:
    start = bytes(body[:500]).lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _bounded(title: str, text: str) -> PageText:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT_BYTES:
        return PageText(title, text)
    kept = data[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return PageText(title, kept, "over 250 kB of text")
