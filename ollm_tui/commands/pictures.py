"""The command for pictures that a model draws."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ollm_tui.chat.drawing import DrawingWish, newest_picture, wish_of
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import Content, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode

_OPTION: Final = lazy_re(r'(?:^|\s)--(?P<name>[a-z]+)(?:=|\s+|$)(?P<value>"[^"]*"|\S*)')
_SIZE: Final = lazy_re(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
_NUMBER: Final = lazy_re(r"-?[0-9]{1,18}")
_MAX_PICTURES: Final = 20
_VARIATIONS: Final = 4
_FORM: Final = "Try: /image a red cat --size 512x512 --seed 42 --count 2"
_WORDS: Final = (
    Completion("again", "draw the last prompt again"),
    Completion("vary", "draw the last prompt several times", takes_more=True),
    Completion("edit", "change the last picture", takes_more=True),
    Completion("save", "write the last picture to a file", takes_more=True),
)


def _words(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return _WORDS if newest_picture(host.conversation().messages) is not None else ()


@command(
    "image",
    usage="PROMPT | again | vary [N] | edit TEXT | save [FILE]",
    complete=_words,
    task="picture",
)
async def draw_picture(host: CommandHost, argument: str) -> None:
    """Draw a picture of a text, or edit or save the last one."""
    word, _, rest = argument.partition(" ")
    match word:
        case "":
            raise AIError(ErrorCode.BAD_REQUEST, "What is to be drawn?", hint=_FORM)
        case "again" if not rest:
            await _again(host, 1)
        case "vary" if not rest or _NUMBER.fullmatch(rest.strip()):
            await _again(
                host, _number("vary", rest.strip(), 1, _MAX_PICTURES) if rest else _VARIATIONS
            )
        case "edit" if rest.strip():
            await _edit(host, _parsed(rest))
        case "save" if not re.search(r"\s", rest.strip()):
            await host.drawings.save(rest.strip())
        case _:
            typed = _parsed(argument)
            await host.drawings.draw(typed.prompt, typed.wish, typed.mask)


@dataclass(frozen=True, slots=True)
class _Typed:
    """What was typed: a prompt, and what is wanted of its pictures; no model is the usual one."""

    prompt: str
    wish: DrawingWish
    mask: str
    """The file of a mask, or an empty text."""


def _parsed(text: str) -> _Typed:
    wish, mask = DrawingWish(model=""), ""
    for match in _OPTION.finditer(text):
        value = match["value"].strip('"')
        if match["name"] == "mask" and value:
            mask = value
        else:
            wish = _with_option(wish, match["name"], value)
    prompt = " ".join(_OPTION.sub(" ", text).split())
    if not prompt:
        raise AIError(ErrorCode.BAD_REQUEST, "What is to be drawn?", hint=_FORM)
    return _Typed(prompt, wish, mask)


def _with_option(wish: DrawingWish, name: str, value: str) -> DrawingWish:
    match name:
        case "size" if _SIZE.fullmatch(value):
            return replace(wish, size=value)
        case "size":
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "--size takes width and height in pixels, such as 512x512.",
            )
        case "seed":
            return replace(wish, seed=_number("--seed", value, -(10**18), 10**18))
        case "count":
            return replace(wish, count=_number("--count", value, 1, _MAX_PICTURES))
        case "model" if value:
            return replace(wish, model=value)
        case _:
            raise AIError(ErrorCode.BAD_REQUEST, f"/image has no option --{name[:20]}.", hint=_FORM)


def _number(name: str, value: str, low: int, high: int) -> int:
    number = int(value) if _NUMBER.fullmatch(value) else None
    if number is None or not low <= number <= high:
        limits = "" if high > _MAX_PICTURES else f" from {low} to {high}"
        raise AIError(ErrorCode.BAD_REQUEST, f"{name} takes a whole number{limits}.")
    return number


async def _again(host: CommandHost, count: int) -> None:
    """Draw the newest prompt that was drawn, with another seed."""
    for message in reversed(host.conversation().messages):
        wish = wish_of(message)
        if wish is not None and wish.makes == "image":
            again = replace(wish, seed=None, count=count)
            await host.drawings.draw(message.content, again)
            return
    raise _nothing_drawn()


async def _edit(host: CommandHost, typed: _Typed) -> None:
    picture = newest_picture(host.conversation().messages)
    if picture is None:
        raise _nothing_drawn()
    content: Content = (TextContent(typed.prompt), picture)
    await host.drawings.draw(content, typed.wish, typed.mask)


def _nothing_drawn() -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, "No picture was drawn in this chat yet.", hint=_FORM)
