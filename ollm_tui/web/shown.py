"""What people see of a page or a search: one text, which is kept with the chat and read again.

A reader takes only what its writer writes. Other text is None, so it is shown as it is.
"""

from collections.abc import Sequence
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re

FETCH: Final = "web_fetch"
SEARCH: Final = "web_search"
WEB_TOOLS: Final = frozenset({FETCH, SEARCH})
MAX_RESULTS: Final = 10
_TITLE: Final = "Title: "
_ADDRESS: Final = "Address: "
_FACTS: Final = lazy_re(r"[0-9]{3} · [^\n]{1,400}")
_HEADING: Final = lazy_re(r"[0-9]{1,3} results? from [^\s]{1,300}")
_URL: Final = lazy_re(r"https?://[^\s]{1,12000}")
_MAX_NOTES: Final = 4


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page that was read; title and text are foreign."""

    title: str
    url: str
    facts: str
    """Status, type, size, time and length."""
    notes: Sequence[str]
    """Why it is not whole, in sentences."""
    text: str

    def written(self) -> str:
        """Return all of it as one text."""
        title = [f"{_TITLE}{clean_line(self.title)}"] if self.title else []
        head = [self.facts, *title, f"{_ADDRESS}{self.url}", *self.notes]
        return "\n".join([*head, "", self.text])


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page that was found; title and snippet are foreign lines."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class ShownSearch:
    """What a search found."""

    server: str
    results: Sequence[SearchResult]

    @property
    def heading(self) -> str:
        """How many results there are, and who gave them."""
        return f"{counted(len(self.results), 'result')} from {self.server}"

    @property
    def listed(self) -> str:
        """The results with their numbers."""
        return "\n\n".join(
            "\n".join(row for row in (f"{at}. {one.title}", one.url, one.snippet) if row)
            for at, one in enumerate(self.results, 1)
        )

    def written(self) -> str:
        """Return all of it as one text."""
        return f"{self.heading}\n\n{self.listed}"


def read_page(text: str) -> ShownPage | None:
    """Return the page of a text that `ShownPage` has written."""
    head, gap, body = text.partition("\n\n")
    facts, *lines = head.split("\n")
    title = lines.pop(0).removeprefix(_TITLE) if lines and lines[0].startswith(_TITLE) else ""
    address = lines.pop(0) if lines else ""
    url = address.removeprefix(_ADDRESS)
    is_page = gap and _FACTS.fullmatch(facts) and address != url and _URL.fullmatch(url)
    if not is_page or len(lines) > _MAX_NOTES:
        return None
    return ShownPage(title, url, facts, tuple(lines), body)


def read_search(text: str) -> ShownSearch | None:
    """Return the results of a text that `ShownSearch` has written."""
    heading, *parts = text.split("\n\n", MAX_RESULTS + 1)
    if _HEADING.fullmatch(heading) is None or not 0 < len(parts) <= MAX_RESULTS:
        return None
    results: list[SearchResult] = []
    for at, part in enumerate(parts, 1):
        title, url, snippet, *more = [*part.split("\n"), "", ""][:4]
        number = f"{at}. "
        if any(more) or not title.startswith(number) or _URL.fullmatch(url) is None:
            return None
        results.append(SearchResult(title.removeprefix(number), url, snippet))
    return ShownSearch(heading.rpartition(" ")[2], results)
