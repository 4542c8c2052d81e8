"""What the tools for the web found: in words for screen readers, and its links."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from ollm_tui.chat.prompt import is_question
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.link_target import LinkTarget, read_link
from ollm_tui.frontend.tool_text import saved_output
from ollm_tui.protocol.message import Message
from ollm_tui.web.shown import WEB_TOOLS, read_page, read_search

_MAX_LENGTH: Final = 300
"""Characters of a title or a snippet."""


def spoken_result(name: str, output: str) -> Sequence[str]:
    """Return the lines that say what a page or a search was; none for any other output."""
    if name not in WEB_TOOLS:
        return ()
    if (page := read_page(output)) is not None:
        title = clean_line(page.title[:_MAX_LENGTH]) or "A page without a title"
        about = f"{title}. Host: {host_of(page.url)}. {_spoken(page.facts)}."
        return (about, *(clean_line(note) for note in page.notes))
    if (search := read_search(output)) is None:
        return ()
    rows = [
        f"{at}. {clean_line(one.title[:_MAX_LENGTH])}. Host: {host_of(one.url)}. "
        f"{clean_line(one.snippet[:_MAX_LENGTH])}".rstrip()
        for at, one in enumerate(search.results, 1)
    ]
    return (f"{clean_line(search.heading)}. /links opens one.", *rows)


def host_of(url: str) -> str:
    """Return the host that a browser would go to."""
    target = read_link(url)
    return target.hosts[0].ascii if isinstance(target, LinkTarget) else clean_line(url)


def links_of_output(name: str, output: str) -> list[tuple[str, str]]:
    """Return the titles and addresses of a result; none of any other output."""
    if name not in WEB_TOOLS:
        return []
    if (page := read_page(output)) is not None:
        return [(page.title, page.url)]
    search = read_search(output)
    return [] if search is None else [(one.title, one.url) for one in search.results]


def links_of_turn(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return what the tools found since the newest question, in order."""
    turn = [*takewhile(lambda one: not is_question(one), reversed(messages))]
    return [
        link
        for message in reversed(turn)
        if message.role == "tool"
        for link in links_of_output(message.name or "", saved_output(message))
    ]


def _spoken(facts: str) -> str:
    return clean_line(facts).replace(" · ", ", ")
