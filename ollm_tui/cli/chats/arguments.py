"""The actions of `ollm chats` as the command line takes them. To add one, add a row."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ollm_tui.cli.models_arguments import add_command, typed_fields
from ollm_tui.dataclass import dataclass
from ollm_tui.exchange.formats import FORMATS

_ID: Final = "the id of a chat, a unique part of it, or `last`"
SORTS: Final = ("changed", "created", "title", "model", "messages", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What the actions of `ollm chats` take."""

    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_deleted: bool = False
    """Whether deleted chats and messages are listed."""
    limit: int | None = None
    """How many lines are listed at most."""
    similar: bool = False
    """Whether messages of similar meaning are searched too."""
    sources: tuple[Path, ...] = ()
    """Files to import."""
    export_format: str | None = None
    is_tree: bool | None = None
    """Whether all branches are meant; None leaves it to the format."""
    target: Path | None = None
    """The file to write."""
    force: bool = False
    title: tuple[str, ...] = ()
    """The words of a new title."""
    tags: tuple[str, ...] = ()
    """Tags to add, or tags that a listed chat must have."""
    removed: tuple[str, ...] = ()
    """Tags to remove."""
    is_pinned: bool = False
    """Whether only pinned chats are listed."""
    is_archived: bool = False
    """Whether archived chats are listed."""
    sort: str | None = None
    is_turned: bool = False
    """Whether the order is reversed."""
    day: str | None = None
    """The day of the copy to restore, as `2026-11-24`."""


@dataclass(frozen=True, slots=True)
class _Action:
    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]


def add_chats(commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser) -> None:
    """Add `chats` and its actions."""
    chats = add_command(
        commands,
        "chats",
        "search, list, show, mark, export, import, delete and restore saved chats",
    )
    actions = chats.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action in _ACTIONS:
        parser = add_command(actions, action.name, action.help, shared)
        action.add_options(parser)


def chat_options(values: Mapping[str, Any]) -> ChatOptions:
    """Return the options that were typed."""
    typed = typed_fields(ChatOptions, values)
    for name in ("ids", "words", "sources", "title", "tags", "removed"):
        typed[name] = tuple(typed.get(name, ()))
    return ChatOptions(**typed)


def _add_search(action: argparse.ArgumentParser) -> None:
    about = 'words that must all be in a message; also "words in order", begin*, role:user, '
    about += "model:NAME, tag:NAME, after:2026-03 and before:2026-03-31"
    action.add_argument("words", metavar="WORDS", nargs="*", help=about)
    about = "also list messages of similar meaning, with an embedding model of this machine"
    action.add_argument("--similar", action="store_true", help=about)
    _add_limit(action, "messages")


def _add_list(action: argparse.ArgumentParser) -> None:
    about = "words that must all be in the title, the model or the tags; also model:NAME, "
    about += "tag:NAME, after:2026-03 and before:2026-03-31"
    action.add_argument("words", metavar="WORDS", nargs="*", help=about)
    about = "list chats with this tag; may be repeated"
    action.add_argument("--tag", metavar="TAG", dest="tags", action="append", help=about)
    about = "list pinned chats only"
    action.add_argument("--pinned", dest="is_pinned", action="store_true", help=about)
    about = "list the archived chats"
    action.add_argument("--archived", dest="is_archived", action="store_true", help=about)
    action.add_argument("--sort", choices=SORTS, help="column to sort by (default: changed)")
    about = "reverse the order"
    action.add_argument("--reverse", dest="is_turned", action="store_true", help=about)
    _add_limit(action, "chats")
    about = "list deleted chats and messages that can be restored"
    action.add_argument("--deleted", dest="is_deleted", action="store_true", help=about)


def _add_limit(action: argparse.ArgumentParser, what: str) -> None:
    about = f"maximum number of {what} to list (default: 20)"
    action.add_argument("--limit", metavar="NUMBER", type=int, help=about)


def _add_show(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)


def _add_export(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)
    about = "md, json or html (default: by the name of the file, otherwise md)"
    action.add_argument(
        "--format", dest="export_format", metavar="FORMAT", choices=tuple(FORMATS), help=about
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


def _add_ids(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs="+", help=_ID)


def _add_rename(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)
    action.add_argument("title", metavar="TITLE", nargs="+", help="the new title")


def _add_tag(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs=1, help=_ID)
    about = "tags to add; without any, the tags of the chat are printed"
    action.add_argument("tags", metavar="TAG", nargs="*", help=about)
    about = "a tag to remove; may be repeated"
    action.add_argument("--remove", metavar="TAG", dest="removed", action="append", help=about)


def _add_undelete(action: argparse.ArgumentParser) -> None:
    about = "the id of a chat, or a unique part of it, as `ollm chats list --deleted` shows it"
    action.add_argument("ids", metavar="ID", nargs=1, help=about)


def _add_purge(action: argparse.ArgumentParser) -> None:
    action.add_argument("-y", "--yes", action="store_true", help="remove without asking")


def _add_restore(action: argparse.ArgumentParser) -> None:
    about = "the day of the copy, such as 2026-11-24; without it, the copies are listed"
    action.add_argument("day", metavar="DATE", nargs="?", help=about)
    action.add_argument("-y", "--yes", action="store_true", help="restore without asking")


_ACTIONS: Final = (
    _Action("search", "search in the messages of all saved chats", _add_search),
    _Action("list", "list the saved chats: pinned chats first, then the latest", _add_list),
    _Action("show", "print the messages of a saved chat", _add_show),
    _Action("export", "write a chat as Markdown, JSON or HTML", _add_export),
    _Action("import", "import chats; those that exist already are skipped", _add_import),
    _Action("rename", "rename a chat", _add_rename),
    _Action("tag", "add tags to a chat, or remove tags", _add_tag),
    _Action("pin", "pin chats to the top of the list", _add_ids),
    _Action("unpin", "unpin chats", _add_ids),
    _Action("archive", "remove chats from the list without deleting them", _add_ids),
    _Action("unarchive", "return chats to the list", _add_ids),
    _Action("rm", "delete chats; they can be restored for 30 days", _add_remove),
    _Action("undelete", "undo the last deletion of a chat, or in it", _add_undelete),
    _Action("purge", "permanently remove deleted chats and messages", _add_purge),
    _Action("restore", "list the daily copies of all chats, or restore one", _add_restore),
)
