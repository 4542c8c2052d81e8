"""The actions of `ollm chats` as the command line takes them. To add one, add a row."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ollm_tui.cli.models_arguments import add_command, typed_fields

_ID: Final = "the id of a chat, a unique part of it, or `last`"
EXPORT_FORMATS: Final = ("md", "json", "html")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What the actions of `ollm chats` take."""

    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    limit: int | None = None
    """How many lines are listed at most."""
    sources: tuple[Path, ...] = ()
    """Files to import."""
    export_format: str | None = None
    is_tree: bool | None = None
    """Whether all branches are meant; None leaves it to the format."""
    target: Path | None = None
    """The file to write."""
    force: bool = False


@dataclass(frozen=True, slots=True)
class _Action:
    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]


def add_chats(commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser) -> None:
    """Add `chats` and its actions."""
    chats = add_command(
        commands, "chats", "search, list, show, export, import and delete saved chats"
    )
    actions = chats.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action in _ACTIONS:
        parser = add_command(actions, action.name, action.help, shared)
        action.add_options(parser)


def chat_options(values: Mapping[str, Any]) -> ChatOptions:
    """Return the options that were typed."""
    typed = typed_fields(ChatOptions, values)
    for name in ("ids", "words", "sources"):
        typed[name] = tuple(typed.get(name, ()))
    return ChatOptions(**typed)


def _add_search(action: argparse.ArgumentParser) -> None:
    about = 'words that all must be in a message; also "words in order", begin*, role:user, '
    about += "model:NAME, after:2026-03 and before:2026-03-31"
    action.add_argument("words", metavar="WORDS", nargs="*", help=about)
    _add_limit(action, "messages")


def _add_list(action: argparse.ArgumentParser) -> None:
    _add_limit(action, "chats")


def _add_limit(action: argparse.ArgumentParser, what: str) -> None:
    about = f"list at most so many {what} (default: 20)"
    action.add_argument("--limit", metavar="NUMBER", type=int, help=about)


def _add_show(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)


def _add_export(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)
    about = "md, json or html (default: by the name of the file, else md)"
    action.add_argument(
        "--format", dest="export_format", metavar="FORMAT", choices=EXPORT_FORMATS, help=about
    )
    _add_branches(action)
    about = "the file to write (default: standard output)"
    action.add_argument("-o", "--output", dest="target", metavar="FILE", type=Path, help=about)
    action.add_argument("--force", action="store_true", help="replace the file if it exists")


def _add_branches(action: argparse.ArgumentParser) -> None:
    only = action.add_mutually_exclusive_group()
    about = "the branch that was continued last (default, except for json)"
    only.add_argument("--branch", dest="is_tree", action="store_const", const=False, help=about)
    about = "all branches (default for json)"
    only.add_argument("--tree", dest="is_tree", action="store_const", const=True, help=about)


def _add_import(action: argparse.ArgumentParser) -> None:
    about = "an export of ollm, ChatGPT (also the zip), Open WebUI or parllama, a conversation of "
    about += "LM Studio, or the database of oterm or llm"
    action.add_argument("sources", metavar="FILE", nargs="+", type=Path, help=about)


def _add_remove(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs="+", help=_ID)
    action.add_argument("-y", "--yes", action="store_true", help="delete without asking")


_ACTIONS: Final = (
    _Action("search", "search in the messages of all saved chats", _add_search),
    _Action("list", "list the saved chats, the latest first", _add_list),
    _Action("show", "print the messages of a saved chat", _add_show),
    _Action("export", "write a chat as Markdown, JSON or HTML", _add_export),
    _Action("import", "import chats; those that are there already are left out", _add_import),
    _Action("rm", "delete chats permanently", _add_remove),
)
