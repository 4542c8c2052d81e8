"""Commands about what runs: /continue after the limit of turns, /cancel for tools."""

import re
from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command

MOST_TURNS: Final = 100
_HOW: Final = "/continue, /continue N for N turns, /continue wrap or /continue stop."
_NUMBER: Final = re.compile(r"#?([0-9]{1,6})")


def _ways(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [
        Completion("3", "three more turns, or any other number"),
        Completion("wrap", "the model answers now, without tools"),
        Completion("stop", "leave the answer as it is"),
    ]


@command(
    "continue",
    usage="[N | wrap | stop]",
    complete=_ways,
    is_offered=lambda host: host.loop.can_go_on,
)
async def go_on(host: CommandHost, argument: str) -> None:
    """Continue after the limit of turns with tools, or not."""
    word = argument.strip().casefold()
    if not host.loop.can_go_on:
        host.say("The last answer did not end at the limit of turns.")
        return
    number = _NUMBER.fullmatch(word)
    if not word:
        host.loop.go_on()
    elif number is not None and 1 <= int(number[1]) <= MOST_TURNS:
        host.loop.go_on(int(number[1]))
    elif word == "wrap":
        host.loop.wrap_up()
    elif word == "stop":
        host.loop.give_up()
    else:
        host.say(f"Write {_HOW} N is 1 to {MOST_TURNS}.", "error")


def _running(host: CommandHost, _argument: str) -> Sequence[Completion]:
    listed = enumerate(host.work.tools(), 1)
    return [Completion(str(number), tool.words) for number, tool in listed]


@command(
    "cancel",
    usage="[N | all]",
    complete=_running,
    is_offered=lambda host: bool(host.work.tools()),
)
async def cancel(host: CommandHost, argument: str) -> None:
    """Cancel a tool that runs; the others go on."""
    tools, word = host.work.tools(), argument.strip().casefold()
    number = _NUMBER.fullmatch(word)
    if not tools:
        host.say("No tool is running.")
    elif word == "all" or (not word and len(tools) == 1):
        for tool in tools:
            host.work.cancel(tool.id)
    elif number is not None and 1 <= int(number[1]) <= len(tools):
        host.work.cancel(tools[int(number[1]) - 1].id)
    else:
        rows = [f"{place}  {tool.words}" for place, tool in enumerate(tools, 1)]
        host.say("\n".join([*rows, "/cancel N cancels one of them, /cancel all all."]))
