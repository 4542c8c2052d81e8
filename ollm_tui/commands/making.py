"""The commands for videos and music that a model makes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ollm_tui.attachments.made import newest_media
from ollm_tui.chat.drawing import DrawingWish, newest_of, wish_of
from ollm_tui.chat.making import Makes
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

_OPTION: Final = lazy_re(r"(?:^|\s)--(?P<name>[a-z]+)(?:=|\s+|$)(?P<value>\S*)")
_SIZE: Final = lazy_re(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
_NUMBER: Final = lazy_re(r"-?[0-9]{1,18}")
_LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "seconds": (1, 1800),
    "fps": (1, 240),
    "frames": (1, 10_000),
    "seed": (-(10**18), 10**18),
}
_OPTIONS: Final[Mapping[Makes, frozenset[str]]] = {
    "video": frozenset({"seconds", "fps", "frames", "seed", "size", "model"}),
    "audio": frozenset({"seconds", "model"}),
}
_FORMS: Final[Mapping[Makes, str]] = {
    "video": "Try: /video a cat walks --seconds 4 --size 832x480",
    "audio": "Try: /music slow jazz --seconds 30",
}


def _videos(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return _words(host, "video", "video")


def _sounds(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return _words(host, "audio", "music")


def _words(host: CommandHost, makes: Makes, word: str) -> Sequence[Completion]:
    if newest_of(host.conversation().messages, makes) is None:
        return ()
    return (
        Completion("again", f"make the last {word} again"),
        Completion("save", f"write the last {word} to a file", takes_more=True),
    )


@command(
    "video",
    usage="PROMPT | again | save [FILE]",
    complete=_videos,
    task="video",
)
async def make_video(host: CommandHost, argument: str) -> None:
    """Make a video of a text, or save the last one."""
    await _make(host, "video", argument)


@command(
    "music",
    usage="PROMPT | again | save [FILE]",
    complete=_sounds,
    task="music",
)
async def make_music(host: CommandHost, argument: str) -> None:
    """Make music of a text, or save the last one."""
    await _make(host, "audio", argument)


def _has_media(host: CommandHost) -> bool:
    return newest_media(host.conversation().messages) is not None


@command("open", is_offered=_has_media)
async def open_newest(host: CommandHost, _argument: str) -> None:
    """Open the newest picture, sound, video or PDF."""
    await host.drawings.open_newest()


async def _make(host: CommandHost, makes: Makes, argument: str) -> None:
    word, _, rest = argument.partition(" ")
    if word == "again" and not rest:
        await _again(host, makes)
    elif word == "save" and not re.search(r"\s", rest.strip()):
        await host.drawings.save(rest.strip(), makes)
    else:
        wish = DrawingWish(model="", makes=makes)
        for match in _OPTION.finditer(argument):
            wish = _with_option(wish, match["name"], match["value"])
        prompt = " ".join(_OPTION.sub(" ", argument).split())
        if not prompt:
            raise AIError(ErrorCode.BAD_REQUEST, "What is to be made?", hint=_FORMS[makes])
        await host.drawings.draw(prompt, wish)


def _with_option(wish: DrawingWish, name: str, value: str) -> DrawingWish:
    if name not in _OPTIONS[wish.makes]:
        command_name = "music" if wish.makes == "audio" else wish.makes
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"/{command_name} has no option --{name[:20]}.",
            hint=_FORMS[wish.makes],
        )
    match name:
        case "size" if _SIZE.fullmatch(value):
            return replace(wish, size=value)
        case "size":
            raise AIError(
                ErrorCode.BAD_REQUEST, "--size takes width and height in pixels, such as 832x480."
            )
        case "model" if value:
            return replace(wish, model=value)
        case "model":
            raise AIError(ErrorCode.BAD_REQUEST, "--model takes the name of a model.")
        case "seconds":
            return replace(wish, seconds=_number(name, value))
        case "fps":
            return replace(wish, fps=_number(name, value))
        case "frames":
            return replace(wish, frames=_number(name, value))
        case _:
            return replace(wish, seed=_number(name, value))


def _number(name: str, value: str) -> int:
    low, high = _LIMITS[name]
    number = int(value) if _NUMBER.fullmatch(value) else None
    if number is None or not low <= number <= high:
        limits = "" if low < 0 else f" from {low} to {high}"
        raise AIError(ErrorCode.BAD_REQUEST, f"--{name} takes a whole number{limits}.")
    return number


async def _again(host: CommandHost, makes: Makes) -> None:
    """Make the newest of its prompts anew, with another seed."""
    for message in reversed(host.conversation().messages):
        wish = wish_of(message)
        if wish is not None and wish.makes == makes:
            await host.drawings.draw(message.content, replace(wish, seed=None))
            return
    raise AIError(ErrorCode.BAD_REQUEST, "None was made in this chat yet.", hint=_FORMS[makes])
