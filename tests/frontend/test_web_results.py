"""Pages and search results in words, and the links of a turn."""

from ollm_tui.frontend.web_results import links_of_turn, spoken_result
from ollm_tui.linear.narrator import Narrator
from ollm_tui.protocol.chat_events import ToolCallResult, ToolCallStart
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.web.shown import SearchResult, ShownPage, ShownSearch

PAGE = ShownPage(
    "Rain\u202e",
    "https://weather.example/rain",
    "200 · 1,234 characters of text · text/html · 5 kB in 0.1 s",
    ("Stopped: over 10 MB.",),
    "It rains.",
).written()
FOUND = ShownSearch(
    "searx.example",
    [
        SearchResult("Rain", "https://weather.example/rain", "It rains."),
        SearchResult("Bank", "http://bank.example.evil.example/", ""),
    ],
).written()


def test_a_page_is_said_with_its_host_and_length_and_not_read_out() -> None:
    assert spoken_result("web_fetch", PAGE) == (
        "Rain⟦U+202E⟧. Host: weather.example. "
        "200, 1,234 characters of text, text/html, 5 kB in 0.1 s.",
        "Stopped: over 10 MB.",
    )


def test_results_are_said_one_by_one() -> None:
    assert spoken_result("web_search", FOUND) == (
        "2 results from searx.example. /links opens one.",
        "1. Rain. Host: weather.example. It rains.",
        "2. Bank. Host: bank.example.evil.example.",
    )
    assert spoken_result("web_search", "Nothing was found.") == ()
    assert spoken_result("read_file", FOUND) == ()


def test_the_narrator_says_them_when_the_call_is_done() -> None:
    said: list[str] = []
    narrator = Narrator(said.append)
    narrator.begin("tiny")
    call = ToolCall(id="c1", name="web_search", args={"query": "rain"})
    result = ToolResult(call_id="c1", name="web_search", content="for the model", display=FOUND)
    narrator.apply(ToolCallStart(call=call, turn=1, block="b1"))
    narrator.apply(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    assert said[-1].split("\n")[:2] == [
        "web_search is done.",
        "2 results from searx.example. /links opens one.",
    ]


def test_the_links_of_a_turn_are_those_since_the_newest_question() -> None:
    def result(name: str, display: str) -> Message:
        return Message("tool", "x", name=name, tool_call_id="c", metadata={"display": display})

    messages = [
        Message("user", "Before?"),
        result("web_search", FOUND.replace("weather", "older")),
        Message("user", "Rain?"),
        result("web_search", FOUND),
        result("read_file", FOUND),
        result("web_fetch", PAGE),
        Message("assistant", "It rains."),
    ]
    assert [url for _title, url in links_of_turn(messages)] == [
        "https://weather.example/rain",
        "http://bank.example.evil.example/",
        "https://weather.example/rain",
    ]
