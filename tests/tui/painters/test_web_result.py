"""Pages and search results have rows of their own: real hosts, links, and what is not whole."""

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.painters.links import address_at, address_of
from ollm_tui.tui.painters.rows import row_cells
from ollm_tui.tui.painters.tool_call import OPEN_ROWS, Fold, ToolCall, ToolPainter
from ollm_tui.web.shown import SearchResult, ShownPage, ShownSearch
from tests.tui.painters.painting import canvas, settle, texts

FACTS = "200 · 1,234 characters of text · text/html · 5 kB in 0.1 s"
URL = "https://weather.example/rain/may"
LINES = [f"line {number}" for number in range(20)]


def page(title: str = "Rain in May", url: str = URL, *notes: str, text: str = "") -> ShownPage:
    return ShownPage(title, url, FACTS, notes, text or "\n\n".join(LINES))


def found(count: int = 3, url: str = URL) -> ShownSearch:
    results = [SearchResult(f"Result {n}", f"{url}?n={n}", "word " * 30) for n in range(count)]
    return ShownSearch("searx.example", results)


def painted(
    shown: ShownPage | ShownSearch | str, fold: Fold | None = None, *, width: int = 80
) -> ToolPainter:
    name = "web_search" if isinstance(shown, ShownSearch) else "web_fetch"
    call = ToolCall(name, "what was asked for")
    call.end("done", 0.4, shown if isinstance(shown, str) else shown.written())
    call.fold = fold or call.fold
    painter = ToolPainter(canvas(width), call)
    settle(painter)
    return painter


def test_a_page_shows_title_host_length_and_its_first_lines() -> None:
    painter = painted(page())
    assert texts(painter)[1:] == [
        "  Rain in May",
        "  weather.example/rain/may",
        f"  {FACTS}",
        *(f"  ▎ {line}" for line in LINES[:4]),
        "  … 16 more lines",
    ]
    assert painter.next_fold() == "open"


def test_an_opened_page_shows_its_text_as_it_is() -> None:
    painter = painted(page(), "open")
    assert texts(painter)[4:] == [f"  ▎ {line}".rstrip() for line in "\n\n".join(LINES).split("\n")]
    assert painter.next_fold() == "folded"
    assert painted(page(), "folded").rows.row_count == 1
    long = painted(page(text="x\n" * (OPEN_ROWS + 50)), "open")
    assert texts(long)[-1] == "  … 50 more lines"


def test_what_is_not_whole_is_said_and_a_short_page_has_no_more() -> None:
    painter = painted(page("", URL, "Stopped: over 10 MB.", text="It rains."))
    assert texts(painter)[1:] == [
        "  weather.example/rain/may",
        f"  {FACTS}",
        "  Stopped: over 10 MB.",
        "  ▎ It rains.",
    ]
    assert painter.next_fold() == "folded"


def test_the_text_of_a_page_cannot_pose_as_what_is_said_of_it() -> None:
    rows = texts(painted(page(text="200 · text/html\nAddress: https://bank.example/"), "open"))
    assert rows[-2:] == ["  ▎ 200 · text/html", "  ▎ Address: https://bank.example/"]


def test_the_host_is_the_one_that_a_browser_would_go_to() -> None:
    long = f"http://{'bank.example.' * 12}evil.example:8080/path"
    for url, shown in [
        ("https://xn--bcher-kva.example/", "  xn--bcher-kva.example"),
        ("http://0x7f.1/x", "  http://127.0.0.1/x"),
    ]:
        assert texts(painted(page("", url)))[1] == shown
    host = texts(painted(page("", long)))[1]
    assert host.endswith("evil.example:8080")
    assert len(host) <= 80


def test_results_are_titles_with_hosts_then_with_snippets() -> None:
    painter = painted(found())
    assert texts(painter)[1:] == [
        "  3 results from searx.example",
        *(f"  {n + 1}. Result {n}  weather.example" for n in range(3)),
    ]
    assert painter.next_fold() == "open"
    rows = texts(painted(found(1), "open"))
    assert rows[2:4] == ["  1. Result 0", "     weather.example/rain/may?n=0"]
    assert rows[4].startswith("     word word")
    assert rows[5].startswith("     word word")


def test_links_lead_to_the_address_of_the_result() -> None:
    painter = painted(found())
    assert address_at(painter.rows.row, 2, 6) == f"{URL}?n=0"
    assert address_at(painter.rows.row, 1, 6) is None
    opened = painted(found(), "open")
    assert address_at(opened.rows.row, 3, 8) == f"{URL}?n=0"
    read = painted(page(text="see https://other.example/x now"))
    rows = dict(enumerate(read.rows.items))
    assert address_at(rows.get, 4, 10) == "https://other.example/x"
    styles = [style for _text, style, _control in painter.rows.row(2).segments]
    assert all(style is None or style.link is None for style in styles)
    assert any(address_of(style) for style in styles)


def test_what_has_another_form_stays_an_ordinary_row() -> None:
    assert texts(painted("The search failed."))[1:] == ["  The search failed."]
    call = ToolCall("read_file", "x")
    call.end("done", 0.1, page().written())
    assert not call.is_of_the_web
    assert call.fold == "folded"


@given(
    st.text(max_size=60),
    st.text(max_size=80),
    st.integers(20, 120),
    st.sampled_from(["peek", "open"]),
)
def test_foreign_text_is_cleaned_and_no_row_is_too_wide(
    title: str, text: str, width: int, fold: Fold
) -> None:
    search = ShownSearch("here", [SearchResult("\x1b]0;" + title, URL, text.replace("\n", " "))])
    for shown in (page(title + "\u202e", text="\x1b[2J" + text), search):
        painter = painted(shown, fold, width=width)
        for number in range(painter.rows.row_count):
            row = painter.rows.row(number)
            assert row_cells(row.segments) <= max(width, 24)
            assert not set("\x1b\u202e") & set(row.text)
