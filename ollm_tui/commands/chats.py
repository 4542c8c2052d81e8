"""Commands about the chats themselves: /chats /context."""

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import command


@command("chats", aliases=("resume",))
async def show_chats(host: CommandHost, _argument: str) -> None:
    """Open or delete a saved chat."""
    host.show("chats")


@command("context", aliases=("tokens",))
async def show_context(host: CommandHost, _argument: str) -> None:
    """Show how full the model's window is, and the ways out."""
    host.show("context")
