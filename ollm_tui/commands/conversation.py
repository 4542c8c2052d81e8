"""Commands about the conversation, its attachments, and saved chats."""

import re
from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.exports import copy_chat
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command, opens
from ollm_tui.decode.clean import clean_line
from ollm_tui.exchange.formats import FORMATS
from ollm_tui.lazy import lazy_re

# A fence closes with at least as many of the same marks (CommonMark, "Fenced code blocks").
_CODE_BLOCK: Final = lazy_re(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)


@command("new", aliases=("clear",))
async def begin_again(host: CommandHost, _argument: str) -> None:
    """Start a new chat."""
    await host.new_chat()


@command("retry")
async def retry(host: CommandHost, _argument: str) -> None:
    """Ask for the last answer again."""
    await host.retry()


edit = opens("edit", "edit", "Edit your last message and ask again.")
editor = opens("editor", "editor", "Write the message in your own editor.", usage="[TEXT]")
queue = opens("queue", "queue", "Edit, move or remove waiting messages.")


@command("find", usage="[TEXT]")
async def find_text(host: CommandHost, argument: str) -> None:
    """Search in this chat."""
    host.find(argument)


links = opens("links", "links", "List the links of the newest answer.")


def _copies(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(f"chat {one.name}", one.about) for one in FORMATS.values()]


@command("copy", usage="[N | chat [md | json | html]]", complete=_copies)
async def copy_answer(host: CommandHost, argument: str) -> None:
    """Copy the last answer, its code block N, or the chat."""
    first, _, form = argument.partition(" ")
    if first.casefold() == "chat":
        await copy_chat(host, form.strip())
        return
    answer = host.conversation().last_answer()
    if answer is None:
        host.say("There is no answer to copy.")
    elif not argument:
        host.copy(answer)
    else:
        _copy_block(host, answer, argument)


def _copy_block(host: CommandHost, answer: str, argument: str) -> None:
    if not argument.isdigit():
        host.say("/copy takes a number for a code block, or `chat` for the whole chat.", "error")
        return
    blocks = [match["code"] for match in _CODE_BLOCK.finditer(answer)]
    number = int(argument) if re.fullmatch(r"[0-9]{1,4}", argument) else 0
    if 1 <= number <= len(blocks):
        host.copy(blocks[number - 1].removesuffix("\n"))
    elif not blocks:
        host.say("The last answer has no code block. /copy alone copies all of it.", "error")
    else:
        many = "one code block" if len(blocks) == 1 else f"{len(blocks)} code blocks"
        form = "/copy 1" if len(blocks) == 1 else f"/copy 1 to /copy {len(blocks)}"
        host.say(f"The last answer has {many}: {form}.", "error")


_REMOVE = lazy_re(r"remove(?:\s+#?(?P<number>[0-9]{1,6}|all))?", re.IGNORECASE)


def _attached(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [
        Completion(f"remove {line.partition('#')[2].partition(' ')[0]}", line)
        for line in host.attachments().listed()
    ]


@command("attach", usage="[FILE | remove N]", complete=_attached)
async def attach_file(host: CommandHost, argument: str) -> None:
    """Send a picture, or a text file, with the next message."""
    if not argument:
        host.say(_listing(host))
    elif match := _REMOVE.fullmatch(argument):
        _remove(host, match["number"])
    else:
        await host.attachments().add(argument)


@command("paste")
async def paste_picture(host: CommandHost, _argument: str) -> None:
    """Attach the picture in the clipboard."""
    await host.attachments().paste()


def _listing(host: CommandHost) -> str:
    lines = host.attachments().listed()
    if not lines:
        return "No attachments. /attach FILE adds a picture or a text file to the next message."
    return "\n".join((*lines, "/attach remove N removes one, /attach remove all of them."))


def _remove(host: CommandHost, number: str | None) -> None:
    chosen = int(number) if number and number.isdecimal() else None
    removed = host.attachments().remove(chosen)
    if removed:
        host.say("The picture was removed." if removed == 1 else "No attachments.")
    else:
        host.say("There is no such attachment.", "error")


chats = opens(
    "chats",
    "chats",
    "Open or delete a saved chat, or continue the last one.",
    ("resume", "history", "sessions"),
    "[last]",
)
search = opens("search", "search", "Search in all saved chats.", usage="[WORDS]")
branch = opens(
    "branch", "branch", "Show the next branch of this chat, or number N.", ("branches",), "[N]"
)
tree = opens("tree", "tree", "Show all branches of this chat.")
fork = opens("fork", "fork", "Copy this branch to a new chat.")
undelete = opens("undelete", "undelete", "Undo the last deletion, of this chat first.")


def _off(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion("off", "start a chat that is saved")]


@command("private", usage="[off]", complete=_off)
async def begin_private(host: CommandHost, argument: str) -> None:
    """Start a chat of which nothing is kept."""
    word = argument.casefold()
    if word in {"", "on", "off"}:
        host.show("private", word)
    else:
        host.say("/private starts a private chat, and /private off one that is saved.", "error")


MAX_TITLE_LENGTH: Final = 200


@command("rename", aliases=("title",), usage="TITLE")
async def rename_chat(host: CommandHost, argument: str) -> None:
    """Rename this chat."""
    title = " ".join(argument.split())[:MAX_TITLE_LENGTH].rstrip()
    if not host.conversation().messages:
        host.say("This chat is empty. Send a message first, then rename it.")
    elif not title:
        current = clean_line((host.conversation().title or "")[:MAX_TITLE_LENGTH])
        is_called = f"This chat is called “{current}”." if current else "This chat has no title."
        host.say(f"{is_called} To rename it: /rename TITLE")
    else:
        host.show("rename", title)


prompt = opens(
    "prompt",
    "prompt",
    "Show the exact prompt that the model gets.",
    usage="[TEXT]",
)
context = opens(
    "context", "context", "Show how full the context is, and how to make room.", ("tokens",)
)
compact = opens("compact", "compact", "Summarise the older messages to make room.", usage="[FOCUS]")
stats = opens("stats", "stats", "Show or hide the line of figures after each answer.")
