"""Commands about the program itself: /help /theme /quit."""

from collections.abc import Sequence

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command, opens
from ollm_tui.decode.clean import clean_name

help_page = opens("help", "help", "Show the keys and commands.", ("?",))


def _themes(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(name) for name in host.theme_names()]


@command("theme", usage="[NAME]", complete=_themes)
async def choose_theme(host: CommandHost, argument: str) -> None:
    """Choose the colours."""
    if not argument:
        host.show("themes")
        return
    known = {name.casefold(): name for name in host.theme_names()}
    name = known.get(argument.casefold())
    if name is None:
        names = ", ".join(known.values())
        host.say(f'No theme "{clean_name(argument[:40])}". Available: {names}.', "error")
        return
    host.set_theme(name)


@command("quit", aliases=("exit", "bye"))
async def leave(host: CommandHost, _argument: str) -> None:
    """Quit."""
    host.quit()
