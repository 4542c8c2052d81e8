"""Slash commands: what each one is called, takes, completes and does, without any front end.

What a command needs of the outside it asks of a `CommandHost`; drawing and keys belong to `tui`.
"""

from typing import Final

from ollm_tui.commands import (
    changes,
    conversation,
    exports,
    instructions,
    making,
    mcp,
    memory,
    model,
    options,
    permissions,
    pictures,
    profiles,
    running,
    snippets,
    speech,
    tools,
    view,
)
from ollm_tui.commands.registry import Command, commands_of

COMMANDS: Final[tuple[Command, ...]] = commands_of(
    conversation,
    snippets,
    instructions,
    pictures,
    exports,
    model,
    making,
    profiles,
    options,
    tools,
    mcp,
    permissions,
    changes,
    memory,
    running,
    speech,
    view,
)
"""Every command, in the order `/help` and the completion list show them."""
