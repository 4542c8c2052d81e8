"""Commands about the conversation: /new /retry /edit /find /copy /links."""

import re
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import command

# A fence closes with at least as many of the same marks (CommonMark, "Fenced code blocks").
_CODE_BLOCK: Final = re.compile(
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


@command("edit", aliases=("undo",))
async def edit_last(host: CommandHost, _argument: str) -> None:
    """Edit your last message and ask again."""
    host.show("edit")


@command("find", aliases=("search",), usage="[TEXT]")
async def find_text(host: CommandHost, argument: str) -> None:
    """Search in this chat."""
    host.find(argument)


@command("links")
async def show_links(host: CommandHost, _argument: str) -> None:
    """List the links of the newest answer."""
    host.show("links")


@command("copy", usage="[N]")
async def copy_answer(host: CommandHost, argument: str) -> None:
    """Copy the last answer, or its code block number N."""
    answer = host.conversation().last_answer()
    if answer is None:
        host.say("There is no answer to copy.")
    elif not argument:
        host.copy(answer)
    else:
        _copy_block(host, answer, argument)


def _copy_block(host: CommandHost, answer: str, argument: str) -> None:
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
