"""What requests to fill a gap between two texts may have, and those for music."""

from typing import Final

from ollm_tui.decode.json_fields import present
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.protocol.blocks import TextContent, content_to_text, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.body.unsupported import check_input
from ollm_tui.providers.media.drawing import whole_number
from ollm_tui.providers.media.encoding import unsendable

VERBATIM: Final = ThinkTags(pairs=())
"""Nothing in such an answer is thinking."""
_OPTIONS: Final = (
    "temperature", "max_tokens", "top_p", "top_k", "min_p", "repeat_penalty", "presence_penalty",
    "frequency_penalty", "seed", "stop",
)  # fmt: skip
MUSIC_OUTPUT: Final = "music"
"""What a request for music names as its output: its modality is that of speech."""
MAX_SECONDS: Final = 1800


def gap_of(request: Request, *more_options: str) -> tuple[str, str]:
    """Return the text before the gap and that after it.

    Raises:
        AIError: UNSUPPORTED_FEATURE for fields that have no place in such a request,
            UNSUPPORTED_MODALITY for content that is no text, BAD_REQUEST for no text at all.
    """
    check_input(request, "infill", "text", {*_OPTIONS, *more_options}, more={"suffix"})
    prefix = ""
    for block in normalize_content(request.input or ""):
        if not isinstance(block, TextContent):
            raise unsendable(block)
        prefix += block.text
    suffix = request.suffix or ""
    if not (prefix or suffix):
        raise AIError(ErrorCode.BAD_REQUEST, "Infill takes a text before the gap or after it.")
    return prefix, suffix


def infill_options(options: GenerationOptions) -> JsonObject:
    """Return the options by their own names, and the keys of `extra_body`."""
    values: dict[str, JsonValue] = {name: getattr(options, name) for name in _OPTIONS}
    values["stop"] = None if options.stop is None else list(options.stop)
    return present(values) | dict(options.extra_body or {})


def music_order(request: Request) -> tuple[str, int | None, JsonObject]:
    """Read a request for music: the text, the length in seconds, and further keys of the body.

    Raises:
        AIError: UNSUPPORTED_FEATURE for fields that have no place in one; BAD_REQUEST for no text,
            and for a length beyond its limits.
    """
    check_input(request, "music", MUSIC_OUTPUT)
    text = content_to_text(request.input or "")
    if not text.strip():
        raise AIError(ErrorCode.BAD_REQUEST, "Music takes an input of some text.")
    more = dict(request.options.extra_body or {})
    seconds = whole_number("seconds", more.pop("seconds", None), 1, MAX_SECONDS)
    return text, seconds, more
