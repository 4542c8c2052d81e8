"""Commands about the program itself: /help /settings /theme /quit, and about reading."""

from collections.abc import Sequence

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command, opens
from ollm_tui.decode.clean import clean_name

help_page = opens("help", "help", "Show the keys and commands.", ("?",))
settings = opens("settings", "settings", "Show and change the settings.", ("config",))


def _themes(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(name) for name in host.theme_names()]


@command("theme", usage="[NAME]", complete=_themes)
async def choose_theme(host: CommandHost, argument: str) -> None:
    """Choose the colours."""
    known = {name.casefold(): name for name in host.theme_names()}
    if not argument or not known:
        host.show("themes")
        return
    name = known.get(argument.casefold())
    if name is None:
        names = ", ".join(known.values())
        host.say(f'No theme "{clean_name(argument[:40])}". Available: {names}.', "error")
        return
    host.set_theme(name)


focus = opens("focus", "focus", "Read the newest answer alone, or the selected message.")
go = opens("go", "go", "Jump to a question by its number.", usage="N")
marks = opens("marks", "marks", "List the marked messages.")
times = opens("times", "times", "Show or hide the times of messages.", ("timestamps",))


@command("quit", aliases=("exit", "bye"))
async def leave(host: CommandHost, _argument: str) -> None:
    """Quit."""
    host.quit()
