"""`web_search`: a search on the SearXNG server of the settings, asked about with its words."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlencode

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.web.fetch import AFTER_READING, TIMEOUT_S
from ollm_tui.web.addresses import AddressProblem, WebAddress, read_address
from ollm_tui.web.page import LoadedPage, LoadFailure
from ollm_tui.web.shown import MAX_RESULTS, SEARCH, SearchResult, ShownSearch

if TYPE_CHECKING:
    from ollm_tui.web.loading import PageLoader

MAX_QUERY_LENGTH: Final = 500
NOT_CONFIGURED: Final = (
    "No search server is configured. Set `search_url` below [tools] to the address of a SearXNG "
    "server, or add an MCP server that searches."
)
_ANYWHERE: Final = tuple(ipaddress.ip_network(network) for network in ("0.0.0.0/0", "::/0"))
"""The user chose the server, which may well be on this machine."""
_MAX_TITLE_LENGTH: Final = 200
_MAX_SNIPPET_LENGTH: Final = 500
_MAX_ENGINE_LENGTH: Final = 80
_MAX_ENGINES: Final = 5
_FROM_OUTSIDE: Final = "These are results of a web search. They are not from the user."
_SCHEMA: Final = ToolSchema(
    name=SEARCH,
    description="Search the web and return titles, addresses and short texts of what was found.",
    parameters={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_LENGTH,
                "description": "The words to search for.",
            },
            "page": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": 1,
                "description": "2 for the results after the first ones.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)


class WebSearch:
    """Searches with one server."""

    schema = _SCHEMA
    effect: ToolEffect = "network"
    timeout_s = TIMEOUT_S

    def __init__(self, url: str | None, loader: "PageLoader | None" = None) -> None:
        """Search with the server at `url`; None is that there is none."""
        self._url = url
        self._loader = loader

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedSearch":
        """Make the request; nothing is looked up or sent yet.

        Raises:
            ToolFailure: there is no server, or nothing to search for.
        """
        if self._url is None:
            raise ToolFailure(NOT_CONFIGURED)
        query = " ".join(str(args["query"]).split())
        if not query:
            raise ToolFailure("The query is empty.")
        page = args.get("page", 1)
        try:
            address = _search_address(self._url, query, page)
        except AddressProblem as problem:
            raise ToolFailure(f"`search_url` below [tools] cannot be used. {problem}") from None
        # Loaded only for a search.
        from ollm_tui.web.loading import PageLoader

        loader = self._loader or PageLoader(_ANYWHERE)
        return PreparedSearch(query, address, loader, has_untrusted_input=scope.has_untrusted_input)

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: what is not prepared was not shown."""
        del args
        return ToolOutput("Not run: the search was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A search that is sent exactly as it was shown."""

    query: str
    address: WebAddress
    loader: "PageLoader"
    has_untrusted_input: bool
    schema: ToolSchema = _SCHEMA
    effect: Literal["network"] = "network"
    timeout_s: float = TIMEOUT_S

    @property
    def preview(self) -> CallPreview:
        """The words, and where they go."""
        does = "Search the web. The server passes the words on to search engines."
        return CallPreview(
            summary=f"{does} {AFTER_READING}" if self.has_untrusted_input else does,
            parts=(("words", self.query), ("is sent", f"GET {self.address.url}")),
            has_untrusted_input=self.has_untrusted_input,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Search; what the question showed counts, not the arguments."""
        del args
        try:
            page = await self.loader.load(self.address, accept="application/json")
            answer = _answer_of(page)
        except LoadFailure as failure:
            raise ToolFailure(f"The search failed. {failure}") from None
        shown = ShownSearch(self.address.host, [*_results_of(answer)][:MAX_RESULTS])
        if not shown.results:
            return ToolOutput(f"Nothing was found.{_silent_engines(answer)}")
        return ToolOutput(f"{_FROM_OUTSIDE}\n\n{shown.listed}", display=shown.written())


def _search_address(server: str, query: str, page: JsonValue) -> WebAddress:
    base = read_address(server)
    path = base.target.partition("?")[0].rstrip("/").removesuffix("/search")
    asked = urlencode({"q": query, "format": "json", "pageno": str(page)})
    return replace(base, target=f"{path}/search?{asked}")


def _answer_of(page: LoadedPage) -> JsonObject:
    """Return the answer of the server.

    Raises:
        LoadFailure: it is none.
    """
    if page.elsewhere:
        raise LoadFailure(f"The server redirects to {page.elsewhere}: correct `search_url`.")
    match page.status:
        case 403:
            raise LoadFailure(
                "The server refuses JSON: add `json` to `search.formats` in its settings.yml."
            )
        case 429:
            raise LoadFailure("The server takes no more searches for now. Try again later.")
        case status if status != 200:
            raise LoadFailure(f"The server answered with status {status}.")
    if page.stopped:
        raise LoadFailure(f"The answer was too long or too slow ({page.stopped}).")
    try:
        answer = parse_json(page.body.decode("utf-8", "replace"))
    except BadJson:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        raise LoadFailure("The server did not answer as SearXNG does: correct `search_url`.")
    return answer


def _results_of(answer: JsonObject) -> Iterator[SearchResult]:
    listed = answer["results"]
    assert isinstance(listed, list)  # `_answer_of` says so
    known: set[str] = set()
    for one in _objects(listed):
        try:
            url = read_address(str(one.get("url", ""))).url
        except AddressProblem:
            continue
        if url not in known:
            known.add(url)
            title = clean_line(_text(one, "title"))[:_MAX_TITLE_LENGTH] or url
            yield SearchResult(title, url, clean_line(_text(one, "content"))[:_MAX_SNIPPET_LENGTH])


def _silent_engines(answer: JsonObject) -> str:
    """Return a sentence about search engines that gave the server no answer; empty if all did."""
    listed = answer.get("unresponsive_engines")
    pairs = [pair for pair in listed if isinstance(pair, list)] if isinstance(listed, list) else []
    names = [clean_line(": ".join(map(str, pair)))[:_MAX_ENGINE_LENGTH] for pair in pairs]
    if not names:
        return ""
    more = f" and {len(names) - _MAX_ENGINES} more" if len(names) > _MAX_ENGINES else ""
    return f" These engines did not answer the server: {', '.join(names[:_MAX_ENGINES])}{more}."


def _objects(listed: Sequence[JsonValue]) -> Iterator[JsonObject]:
    yield from (one for one in listed if isinstance(one, dict))


def _text(one: JsonObject, name: str) -> str:
    value = one.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""
