"""The text of pages: the main part as Markdown, whatever the bytes claim to be, within limits."""

import time

import pytest

from ollm_tui.web.addresses import read_address
from ollm_tui.web.charsets import decoded
from ollm_tui.web.page import LoadedPage
from ollm_tui.web.reading import MAX_TEXT_BYTES, PageReader, PageText, is_text

NAVIGATION = "".join(f"<li><a href='/n{n}'>Menu {n}</a></li>" for n in range(20))
ARTICLE = "".join(
    f"<h2>Part {n}</h2><p>Sentence number {n} says something, with <a href='/x{n}'>a link</a> and "
    f"<code>code_{n}()</code>, and goes on for a while.</p>"
    for n in range(8)
)
PAGE = f"""<!doctype html><html><head><title>All about
 rain</title><script>var x = "hidden";</script></head><body><nav><ul>{NAVIGATION}</ul></nav>
<article><h1>Rain</h1>{ARTICLE}<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>
</table></article><footer>Cookie settings</footer></body></html>"""


async def text_of(body: bytes, kind: str = "text/html", charset: str = "") -> PageText:
    page = LoadedPage(read_address("https://example.org/a/"), 200, kind, charset, bytearray(body))
    reader = await PageReader.start()
    try:
        return await reader.read(page)
    finally:
        reader.close()


async def test_the_main_text_comes_as_markdown_without_menus() -> None:
    found = await text_of(PAGE.encode())
    assert found.title == "All about rain"
    assert "## Part 3" in found.text
    assert "`code_3()`" in found.text
    assert "| 1 | 2 |" in found.text
    assert "https://example.org/x3" in found.text
    for word in ("Menu 3", "hidden", "Cookie"):
        assert word not in found.text


async def test_a_page_without_a_main_text_gives_all_of_it() -> None:
    found = await text_of(b"<p>Short.</p><script>no</script>")
    assert found.text == "Short."
    assert (await text_of(b"")).text == ""


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 20_000 + b"deep",
        b"<a href='" * 50_000,
        b"<ul><li>" * 3_000 + b"x",
        b"\x00\xff\xfe" * 1000,
        b"<table>" * 2_000 + b"<td>cell",
        b"<!--" * 50_000,
    ],
)
async def test_broken_pages_end_in_time(body: bytes) -> None:
    began = time.monotonic()
    await text_of(body)
    assert time.monotonic() - began < 8


async def test_a_long_text_is_cut_at_250_kb() -> None:
    found = await text_of("ä".encode() * 200_000, "text/plain")
    assert len(found.text.encode()) == MAX_TEXT_BYTES
    assert found.note == "over 250 kB of text"


@pytest.mark.parametrize(
    ("data", "names", "text"),
    [
        ("grün".encode(), ["utf-16"], "grün"),
        ("grün".encode("latin-1"), ["utf-8", "iso-8859-1"], "grün"),
        ("grün".encode("utf-16"), ["ascii"], "grün"),
        ("grün".encode("utf-16-le"), ["utf-16-le"], "grün"),
        (b"plain", ["rot13"], "plain"),
        (b"plain", ["punycode"], "plain"),
        (b"plain", ["zip"], "plain"),
        (b"plain", ["no such", ""], "plain"),
        (b"a\xffb", ["utf-8"], "a\ufffdb"),
        ("日本".encode("shift_jis"), ["Shift_JIS"], "日本"),
        (b"\xef\xbb\xbfx", ["latin-1"], "x"),
    ],
)
def test_bytes_become_text_whatever_the_server_says(
    data: bytes, names: list[str], text: str
) -> None:
    assert decoded(data, *names) == text


async def test_the_charset_of_the_page_itself_counts() -> None:
    page = '<meta charset="iso-8859-1"><p>grün</p>'.encode("latin-1")
    assert (await text_of(page)).text == "grün"


@pytest.mark.parametrize(
    ("kind", "body", "readable"),
    [
        ("text/plain", b"words", True),
        ("application/ld+json", b"{}", True),
        ("", b"words", True),
        ("image/png", b"\x89PNG", False),
        ("text/html", b"\x7fELF\x00\x01", False),
        ("text/plain", "wide".encode("utf-16"), True),
    ],
)
def test_what_is_no_text_is_known(kind: str, body: bytes, readable: bool) -> None:
    page = LoadedPage(read_address("https://example.org/"), 200, kind, "", bytearray(body))
    assert is_text(page) is readable
