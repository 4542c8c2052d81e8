"""Commands about the chats themselves: /chats /branch /context."""

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import command


@command("chats", aliases=("resume", "history", "sessions"))
async def show_chats(host: CommandHost, _argument: str) -> None:
    """Open or delete a saved chat."""
    host.show("chats")


@command("branch", aliases=("branches",), usage="[N]")
async def show_branch(host: CommandHost, argument: str) -> None:
    """Show the next branch of this chat, or number N."""
    host.show("branch", argument)


@command("context", aliases=("tokens",))
async def show_context(host: CommandHost, _argument: str) -> None:
    """Show how full the context is, and how to make room."""
    host.show("context")
