"""Commands that take the open chat elsewhere: /export, and `/copy chat`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.config.paths import expanded
from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError, ErrorCode

EXPORT_FORMATS: Final = {
    "md": "Markdown",
    "json": "JSON with everything, for `ollm chats import`",
    "html": "a page for a browser",
}
_SUFFIXES: Final = {
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}
_REPLACE: Final = "replace"


def _formats(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(name, about) for name, about in EXPORT_FORMATS.items()]


@command("export", usage="[md | json | html] [FILE] [replace]", complete=_formats)
async def export_chat(host: CommandHost, argument: str) -> None:
    """Write this chat to a file."""
    form, _, rest = argument.partition(" ")
    if form.casefold() not in EXPORT_FORMATS:
        form, rest = "", argument
    name, _, last = rest.strip().rpartition(" ")
    replaces = last.casefold() == _REPLACE and bool(name)
    name = (name if replaces else rest).strip()
    path = expanded(Path(name)) if name else None
    if not form:
        form = "md" if path is None else _SUFFIXES.get(path.suffix.lower(), "md")
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
    if wanted not in EXPORT_FORMATS:
        host.say(f"A chat is copied as one of: {', '.join(EXPORT_FORMATS)}.", "error")
        return
    host.copy(await host.exports.text(wanted))
