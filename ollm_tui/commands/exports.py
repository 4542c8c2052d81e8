"""Commands that take the open chat elsewhere: /export, and `/copy chat`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.config.paths import expanded
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import alternatives
from ollm_tui.exchange.formats import DEFAULT_FORMAT, FORMATS, format_of
from ollm_tui.protocol.errors import AIError, ErrorCode

_REPLACE: Final = "replace"


def _formats(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(one.name, one.about) for one in FORMATS.values()]


@command("export", usage="[md | json | html] [FILE] [replace]", complete=_formats)
async def export_chat(host: CommandHost, argument: str) -> None:
    """Write this chat to a file."""
    form, _, rest = argument.partition(" ")
    if form.casefold() not in FORMATS:
        form, rest = "", argument
    name, _, last = rest.strip().rpartition(" ")
    replaces = last.casefold() == _REPLACE and bool(name)
    name = (name if replaces else rest).strip()
    path = expanded(Path(name)) if name else None
    if not form:
        known = None if path is None else format_of(path)
        if path is not None and known is None:
            endings = alternatives([one.suffixes[0] for one in FORMATS.values()])
            host.say(
                f"{clean_line(path.name)} has no ending of a format, which are {endings}. "
                f"Markdown below that name: /export md {clean_line(name)}",
                "error",
            )
            return
        form = known.name if known is not None else DEFAULT_FORMAT
    try:
        written = await host.exports.write(form.casefold(), path, replaces=replaces)
    except AIError as error:
        if error.code != ErrorCode.CONFLICT:
            raise
        shown = clean_line(f"/export {form} {name} {_REPLACE}")
        host.say(f"{error.message} To replace it: {shown}", "error")
    else:
        host.say(f"Saved {clean_line(str(written))}.")


async def copy_chat(host: CommandHost, form: str) -> None:
    """Copy the whole chat."""
    wanted = form.casefold() or "md"
    if wanted not in FORMATS:
        host.say(f"A chat is copied as one of: {', '.join(FORMATS)}.", "error")
        return
    host.copy(await host.exports.text(wanted))
