"""`ollm infill`: the text between two others, on standard output."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.cli.arguments import MAX_PROMPT_BYTES, Arguments, piped_text
from ollm_tui.cli.media.arguments import GAP
from ollm_tui.cli.media.task import answered_by, checked_number, run_task
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.decode.clean import clean
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

_MAX_TOKENS: Final = 1_000_000
_EXAMPLE: Final = f"Try: echo 'def add(a, b): {GAP}' | ollm infill"


def run_infill(arguments: Arguments, output: Output) -> int:
    """Write the text of the gap between two texts."""
    checked_number("--max-tokens", arguments.media.max_tokens, 1, _MAX_TOKENS)
    prefix, suffix = _texts(arguments)
    if not (prefix or suffix):
        raise UsageError("There is no text.", _EXAMPLE)
    work = partial(_infill, arguments, output, prefix, suffix)
    return run_task("infill", arguments, output, work)


def _texts(arguments: Arguments) -> tuple[str, str]:
    """Return the texts before and after the gap.

    Raises:
        UsageError: a file cannot be read, or a text does not have exactly one gap.
    """
    options = arguments.media
    if options.prefix is not None or options.suffix is not None:
        if options.files or options.mark is not None:
            raise UsageError("--prefix and --suffix take the place of FILE and --mark.")
        before = "" if options.prefix is None else _content(options.prefix)
        return before, "" if options.suffix is None else _content(options.suffix)
    mark = options.mark or GAP
    path = options.files[0] if options.files else Path("-")
    text = (piped_text() or "") if str(path) == "-" else _content(path)
    if text.count(mark) != 1:
        count = text.count(mark)
        place = f"{count} gaps" if count else "no gap"
        raise UsageError(
            f"The text has {place}: write {mark} once, where text is missing.", _EXAMPLE
        )
    before, _, after = text.partition(mark)
    return before, after


def _content(path: Path) -> str:
    try:
        return read_bounded(path, MAX_PROMPT_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}.") from error


async def _infill(
    arguments: Arguments,
    output: Output,
    prefix: str,
    suffix: str,
    _runtime: Runtime,
    model: ResolvedModel,
) -> int:
    request = Request(
        model=model.ref.model,
        input=prefix,
        suffix=suffix,
        output="text",
        options=GenerationOptions(max_tokens=arguments.media.max_tokens),
    )
    stream = await model.provider.invoke(request)
    assert not isinstance(stream, Response)
    pieces: list[str] = []
    async with stream as events:
        async for event in events:
            match event:
                case TextDelta(delta=delta):
                    pieces.append(delta)
                    if not arguments.as_json:
                        output.answer(clean(delta))
                case ErrorEvent(error=error):
                    raise error
                case Finish(reason=reason):
                    if arguments.as_json:
                        line: JsonObject = {"type": "infill", "text": "".join(pieces)}
                        line |= {"finish_reason": reason}
                        output.json(line | answered_by(model), is_answer=True)
                    return OK
    raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")
