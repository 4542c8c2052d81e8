"""The tool `web_search`: the words are shown, one server gets them, and results come cleaned."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ollm_tui.tools.web.search import NOT_CONFIGURED, WebSearch
from tests.tools.web_site import Caller, loader, site
from tests.tools.writing.acting import Person

RESULTS: Mapping[str, object] = {
    "query": "rain",
    "results": [
        {"title": "Rain", "url": "https://example.org/rain", "content": "It\n rains.", "score": 2},
        {"title": "Again", "url": "https://example.org/rain", "content": "twice"},
        {"title": "", "url": "https://example.org/none", "content": None},
        {"title": "Bad", "url": "javascript:alert(1)", "content": "x"},
        {"title": "\x1b[31mRed\u202e", "url": "https://bücher.example/", "content": "y" * 900},
        "no object",
    ],
    "suggestions": ["rain radar"],
}


def answering(body: object, status: int = 200) -> Mapping[str, tuple[int, str, bytes]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {"/find/search": (status, "application/json", data)}


async def test_the_words_go_to_the_server_of_the_settings_after_a_yes() -> None:
    async with site(answering(RESULTS)) as server:
        person = Person(allows=False)
        caller = Caller(person, WebSearch(f"http://127.0.0.1:{server.port}/find/"))
        assert (await caller.call("web_search", query="wet  rain")).outcome == "denied"
        assert server.opened == 0
        person.allows = True
        result = await caller.call("web_search", query="wet  rain", page=2)
        (request,) = server.received
        assert parse_qs(urlsplit(request.path).query) == {
            "q": ["wet rain"],
            "format": ["json"],
            "pageno": ["2"],
        }
        shown = dict(person.previews[-1].parts)
        assert shown["words"] == "wet rain"
        assert shown["is sent"] == f"GET http://127.0.0.1:{server.port}{request.path}"
    rows = result.content.split("\n\n")
    assert rows[0].startswith("These are results of a web search.")
    assert rows[1] == "1. Rain\nhttps://example.org/rain\nIt rains."
    assert rows[2] == "2. https://example.org/none\nhttps://example.org/none"
    assert rows[3].startswith("3. ")
    assert "\x1b" not in rows[3]
    assert "\u202e" not in rows[3]
    assert "https://xn--bcher-kva.example/\n" in rows[3]
    assert len(rows) == 4
    assert (result.display or "").startswith("3 results from 127.0.0.1\n\n1. Rain")


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (RESULTS, 403, "add `json` to `search.formats`"),
        (RESULTS, 429, "no more searches for now"),
        (RESULTS, 500, "status 500"),
        (b"<html>", 200, "did not answer as SearXNG does"),
        ({"results": 5}, 200, "did not answer as SearXNG does"),
        (b"", 302, "redirects to http://other.example/"),
    ],
)
async def test_what_a_server_does_wrong_is_one_sentence(
    body: object, status: int, why: str
) -> None:
    async with site(answering(body, status)) as server:
        caller = Caller(Person(), WebSearch(f"http://127.0.0.1:{server.port}/find"))
        result = await caller.call("web_search", query="rain")
    assert result.outcome == "failed"
    assert result.content.startswith("The search failed. ")
    assert why in result.content


async def test_no_results_and_no_server_are_said() -> None:
    async with site(answering({"results": []})) as server:
        caller = Caller(Person(), WebSearch(f"http://127.0.0.1:{server.port}/find/search"))
        assert (await caller.call("web_search", query="rain")).content == "Nothing was found."
    person = Person()
    result = await Caller(person, WebSearch(None)).call("web_search", query="rain")
    assert (result.outcome, result.content) == ("failed", NOT_CONFIGURED)
    result = await Caller(person, WebSearch("nonsense")).call("web_search", query="rain")
    assert "`search_url`" in result.content
    assert person.previews == []


async def test_a_search_after_something_was_read_is_asked_about_again() -> None:
    async with site(answering(RESULTS)) as server:
        person = Person()
        search = WebSearch(f"http://127.0.0.1:{server.port}/find", loader())
        caller = Caller(person, search)
        await caller.call("web_search", query="rain")
        await caller.call("web_search", query="what the page said")
    first, second = person.previews
    assert (first.has_untrusted_input, second.has_untrusted_input) == (False, True)
    assert first.host is None


async def test_engines_that_gave_the_server_nothing_are_named() -> None:
    silent = [["google", "access denied"], ["bing\n\x1b[2J", "timeout"], "no pair"]
    body = {"results": [], "unresponsive_engines": silent + [["e", "timeout"]] * 5}
    async with site(answering(body)) as server:
        caller = Caller(Person(), WebSearch(f"http://127.0.0.1:{server.port}/find"))
        said = (await caller.call("web_search", query="rain")).content
    assert said.startswith(
        "Nothing was found. These engines did not answer the server: google: access denied, bing"
    )
    assert said.endswith("e: timeout, e: timeout, e: timeout and 2 more.")
    assert "\x1b" not in said


async def test_the_answer_of_a_real_searxng_is_read() -> None:
    """Of commit 9fea412 of searxng/searxng, with a JSON engine on the same machine."""
    recorded = (Path(__file__).parents[1] / "data" / "searxng-9fea412.json").read_bytes()
    async with site(answering(recorded)) as server:
        caller = Caller(Person(), WebSearch(f"http://127.0.0.1:{server.port}/find"))
        said = (await caller.call("web_search", query="hello")).content
    assert said.split("\n\n")[1:] == [
        f"{number}. Result {number} <b>bold</b> for /?q=hello\n"
        f"https://example.org/page{number}?a=1&b=2\n"
        f"Snippet {number} with \u200b invisible and <i>markup</i>."
        for number in (1, 2)
    ]
