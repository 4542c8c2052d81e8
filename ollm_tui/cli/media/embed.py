"""`ollm embed`: texts to vectors, one line of JSON for each."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.cli.arguments import MAX_PROMPT_BYTES, Arguments, piped_text
from ollm_tui.cli.media.task import answered_by, run_task
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import EmbeddingContent, TextContent
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.protocol.codec import event_to_json
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

_AT_ONCE: Final = 32
"""Texts of one request; their lines are written when it is answered."""

_LINE_END: Final = lazy_re(r"\r\n?|\n")
"""`str.splitlines` also splits at form feeds and other characters within a line."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and where it is from."""

    place: str
    """`argument 1`, `line 1`, or the path of a file."""
    text: str


def run_embed(arguments: Arguments, output: Output) -> int:
    """Write the embeddings of the texts that were given or piped."""
    sources = _sources(arguments)
    return run_task("embedding", arguments, output, partial(_embed, arguments, output, sources))


def _sources(arguments: Arguments) -> list[Source]:
    options = arguments.media
    if options.dimensions is not None and options.dimensions < 1:
        raise UsageError("--dimensions takes a whole number from 1.")
    sources: list[Source] = []
    for number, text in enumerate(options.texts, 1):
        sources += _lines() if text == "-" else [Source(f"argument {number}", text)]
    sources += [Source(str(path), _content(path)) for path in options.files]
    if not (options.texts or options.files):
        sources += _lines()
    for source in sources:
        if not source.text.strip():
            raise UsageError(f"The text is empty: {source.place}.")
    if not sources:
        raise UsageError("There is no text to embed.", 'Try: ollm embed "a text"')
    return sources


def _lines() -> Iterator[Source]:
    """Yield the lines of the piped text; empty ones are left out."""
    for number, line in enumerate(_LINE_END.split(piped_text() or ""), 1):
        if line.strip():
            yield Source(f"line {number}", line)


def _content(path: Path) -> str:
    try:
        return read_bounded(path, MAX_PROMPT_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}.") from error


async def _embed(
    arguments: Arguments,
    output: Output,
    sources: Sequence[Source],
    _runtime: Runtime,
    model: ResolvedModel,
) -> int:
    report = _Report(arguments, output, len(sources))
    try:
        for start in range(0, len(sources), _AT_ONCE):
            some = sources[start : start + _AT_ONCE]
            report.progress()
            report.add(some, await _vectors(model, some, arguments.media.dimensions))
    finally:
        report.erase()
    report.end(model)
    return OK


async def _vectors(
    model: ResolvedModel, sources: Sequence[Source], dimensions: int | None
) -> Response:
    extra = None if dimensions is None else {"dimensions": dimensions}
    request = Request(
        model=model.ref.model,
        input=[TextContent(source.text) for source in sources],
        output="embedding",
        options=GenerationOptions(extra_body=extra),
        stream=False,
    )
    response = await model.provider.invoke(request)
    assert isinstance(response, Response)
    return response


class _Report:
    """The lines on standard output, and how far it is on a terminal that does not show them."""

    def __init__(self, arguments: Arguments, output: Output, total: int) -> None:
        self._as_json = arguments.as_json
        self._output = output
        self._total = total
        self._done = 0
        self._tokens: int | None = 0
        # On one terminal with the answer, the progress would stand between its lines.
        self._is_drawn = output.is_watched and not sys.stdout.isatty()

    def progress(self) -> None:
        if self._is_drawn and self._total > _AT_ONCE:
            self._output.draw(f"{self._done:,} of {counted(self._total, 'text')}")

    def add(self, sources: Sequence[Source], response: Response) -> None:
        for source, block in zip(sources, response.content, strict=True):
            assert isinstance(block, EmbeddingContent)
            line: JsonObject = {"type": "embedding", "index": self._done, "source": source.place}
            self._output.json(line | {"vector": [*block.vector]}, is_answer=True)
            self._done += 1
        counted_here = response.usage.prompt_tokens if response.usage is not None else None
        known = None in (self._tokens, counted_here)
        self._tokens = None if known else (self._tokens or 0) + (counted_here or 0)

    def erase(self) -> None:
        if self._is_drawn:
            self._output.draw("")

    def end(self, model: ResolvedModel) -> None:
        """With `--json`, write who answered, and what it took."""
        if self._as_json:
            usage = None if self._tokens is None else Usage(prompt_tokens=self._tokens)
            line = event_to_json(Finish(reason="stop", usage=usage))
            self._output.json(line | answered_by(model))
