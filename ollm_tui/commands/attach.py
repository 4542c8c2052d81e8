"""The command about files that go along: /attach."""

import re
from collections.abc import Sequence

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command

_REMOVE = re.compile(r"remove(?:\s+#?(?P<number>[0-9]{1,6}|all))?", re.IGNORECASE)


def _attached(host: CommandHost, _argument: str) -> Sequence[Completion]:
    lines = host.attachments().listed()
    numbers = [line.partition("#")[2].partition(" ")[0] for line in lines]
    return [
        Completion(f"remove {number}", line) for number, line in zip(numbers, lines, strict=True)
    ]


@command("attach", usage="[FILE | remove N]", complete=_attached)
async def attach_file(host: CommandHost, argument: str) -> None:
    """Send a picture, or a text file, with the next message."""
    if not argument:
        host.say(_listing(host))
    elif match := _REMOVE.fullmatch(argument):
        _remove(host, match["number"])
    else:
        await host.attachments().add(argument)


def _listing(host: CommandHost) -> str:
    lines = host.attachments().listed()
    if not lines:
        return "No attachments. /attach FILE adds a picture or a text file to the next message."
    return "\n".join((*lines, "/attach remove N removes one, /attach remove all of them."))


def _remove(host: CommandHost, number: str | None) -> None:
    chosen = int(number) if number and number.isdecimal() else None
    gone = host.attachments().remove(chosen)
    if gone:
        host.say("The picture was removed." if gone == 1 else "No attachments.")
    else:
        host.say("There is no such attachment.", "error")
