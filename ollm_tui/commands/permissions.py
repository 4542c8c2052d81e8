"""The command about what tools may do without a question: /permissions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.commands.tool_host import GrantedTool
from ollm_tui.decode.clean import clean_name
from ollm_tui.lazy import lazy_re
from ollm_tui.shell.words import read_pattern

Mode: TypeAlias = Literal["ask", "reads", "all"]
_MODES: Final[Mapping[str, str]] = {
    "ask": "every tool call needs approval",
    "reads": "tools that only read run without asking",
    "all": "all tools run without asking",
}
_NUMBER: Final = lazy_re(r"#?([0-9]{1,6})")
_HOW: Final = (
    "/permissions revoke N takes one back. /permissions allow git log * allows such commands in "
    "this chat."
)


def _words(_host: CommandHost, argument: str) -> Sequence[Completion]:
    if argument.startswith(("allow ", "revoke ")):
        return []
    modes = [Completion(mode, about) for mode, about in _MODES.items()]
    return [
        *modes,
        Completion("allow ", "commands of a pattern, in this chat"),
        Completion("revoke ", "a permission, by its number, or all"),
    ]


@command("permissions", usage="[ask | reads | all | allow PATTERN | revoke N]", complete=_words)
async def permissions(host: CommandHost, argument: str) -> None:
    """Show which tools run without asking, or change that."""
    word, _, rest = argument.strip().partition(" ")
    match word.casefold():
        case "":
            await _list(host)
        case "ask" | "reads" | "all" as mode if not rest:
            host.permissions.mode = mode
            host.say(host.permissions.sentence)
        case "allow":
            _allow(host, rest.strip())
        case "revoke":
            await _revoke(host, rest.strip())
        case _:
            host.say(
                f"Write /permissions alone, or with one of {', '.join(_MODES)}. {_HOW}", "error"
            )


async def _list(host: CommandHost) -> None:
    listed = await host.permissions.listed()
    rows = [f"{number}  {_row(one)}" for number, one in enumerate(listed, 1)]
    mode = host.permissions.sentence
    if not rows:
        lines = [mode, "No tool is allowed beyond that."]
    elif host.permissions.mode == "ask":
        lines = ["Every tool call needs approval, except:", *rows, _HOW]
    else:
        lines = [f"{mode} Beyond that:", *rows, _HOW]
    host.say("\n".join(lines))


def _row(grant: GrantedTool) -> str:
    what = clean_name(grant.tool)
    if grant.words is not None:
        what = f"{what}: {clean_name(' '.join(grant.words))}"
    if grant.until is None:
        return f"{what} · this chat"
    day = datetime.fromtimestamp(grant.until)
    return f"{what} · this folder, until {day.day} {day:%B %Y}"


def _allow(host: CommandHost, text: str) -> None:
    pattern = read_pattern(text) if text else None
    if pattern is None:
        host.say(
            "Write one plain command, such as /permissions allow git log *. No permission covers "
            "several commands, redirections, or commands that run other ones.",
            "error",
        )
        return
    host.permissions.allow_commands(pattern)
    shown = clean_name(" ".join(pattern))
    host.say(f"In this chat, {shown} runs without asking. Options that it does not name ask.")


async def _revoke(host: CommandHost, text: str) -> None:
    listed = await host.permissions.listed()
    number = _NUMBER.fullmatch(text)
    if text.casefold() == "all" and listed:
        chosen = list(listed)
    elif number is not None and 1 <= int(number[1]) <= len(listed):
        chosen = [listed[int(number[1]) - 1]]
    else:
        host.say("There is no such permission; /permissions lists them.", "error")
        return
    for grant in chosen:
        await host.permissions.revoke(grant)
    host.say("Taken back: it asks again." if len(chosen) == 1 else "All were taken back.")
