from types import ModuleType

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, command, commands_of


def test_every_command_has_a_name_of_its_own_and_one_line_of_help() -> None:
    names = [name for one in COMMANDS for name in one.names]
    assert len(names) == len(set(names))
    assert all(one.help.endswith(".") and len(one.help) < 60 for one in COMMANDS)
    wanted = {"help", "new", "model", "system", "set", "retry", "edit", "copy", "theme", "quit"}
    wanted |= {
        "chats",
        "search",
        "branch",
        "context",
        "find",
        "links",
        "think",
        "tools",
        "attach",
        "models",
    }
    wanted |= {"show", "load", "unload", "pull", "rename", "profile", "save", "schema", "prompt"}
    wanted |= {"export", "image", "dictate", "speak", "settings"}
    wanted |= {"export", "image", "dictate", "speak", "tree", "fork", "undelete"}
    wanted |= {"export", "image", "video", "music", "dictate", "speak", "open", "editor"}
    wanted |= {"compact", "stats", "queue", "paste", "snippet", "focus", "go", "marks", "times"}
    wanted |= {
        "cancel",
        "continue",
        "diff",
        "jobs",
        "mcp",
        "memory",
        "permissions",
        "private",
        "skills",
        "undo",
    }
    assert {one.name for one in COMMANDS} == wanted


def test_help_is_the_first_line_of_the_docstring() -> None:
    @command("wave", aliases=("hi",), usage="[WHO]")
    async def wave(_host: CommandHost, _argument: str) -> None:
        """Wave at somebody.

        Slowly.
        """

    assert isinstance(wave, Command)
    assert wave.help == "Wave at somebody."
    assert wave.names == ("wave", "hi")
    assert wave.signature == "/wave [WHO]"


def test_a_command_without_a_docstring_is_refused() -> None:
    async def silent(_host: CommandHost, _argument: str) -> None:
        pass

    with pytest.raises(TypeError, match="/silent needs a docstring"):
        command("silent")(silent)


def test_two_commands_of_one_name_are_refused() -> None:
    async def run(_host: CommandHost, _argument: str) -> None:
        """Do it."""

    module = ModuleType("twice")
    vars(module).update(a=command("go")(run), b=command("walk", aliases=("go",))(run))
    with pytest.raises(TypeError, match="called /go"):
        commands_of(module)
