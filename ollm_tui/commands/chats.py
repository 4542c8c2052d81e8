"""Commands about the chats themselves: /chats /branch /rename /context."""

from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import command
from ollm_tui.decode.clean import clean_line

LONGEST_TITLE: Final = 200


@command("chats", aliases=("resume", "history", "sessions"))
async def show_chats(host: CommandHost, _argument: str) -> None:
    """Open or delete a saved chat."""
    host.show("chats")


@command("branch", aliases=("branches",), usage="[N]")
async def show_branch(host: CommandHost, argument: str) -> None:
    """Show the next branch of this chat, or number N."""
    host.show("branch", argument)


@command("rename", aliases=("title",), usage="TITLE")
async def rename_chat(host: CommandHost, argument: str) -> None:
    """Rename this chat."""
    title = " ".join(argument.split())[:LONGEST_TITLE].rstrip()
    if not host.conversation().messages:
        host.say("This chat is empty. Send a message first, then rename it.")
    elif not title:
        current = clean_line((host.conversation().title or "")[:LONGEST_TITLE])
        is_called = f"This chat is called “{current}”." if current else "This chat has no title."
        host.say(f"{is_called} To rename it: /rename TITLE")
    else:
        host.show("rename", title)


@command("context", aliases=("tokens",))
async def show_context(host: CommandHost, _argument: str) -> None:
    """Show how full the context is, and how to make room."""
    host.show("context")
