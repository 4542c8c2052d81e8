"""An exported page: what it shows, and that nothing in it runs or is loaded."""

import base64
import hashlib
import re
from collections.abc import Iterator
from time import process_time
from typing import Any
from xml.etree.ElementTree import Element

import pytest
import tinyhtml5

from ollm_tui.exchange.html import html_pieces
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord, MessageRecord
from tests.exchange.hostile import EVIL, hostile_chat
from tests.store.test_records import TREE, chat
from tests.support.picture_bytes import png

TAGS = set(
    re.findall(
        r"\w+",
        "html head body meta title style header main h1 h2 h3 h4 h5 h6 small p pre code span div a "
        "img audio video details summary dl dt dd article table thead tbody tr td th ul ol li em "
        "strong s blockquote hr br",
    )
)
ATTRIBUTES = set(
    re.findall(
        r"\S+",
        "charset http-equiv content name class id href rel src alt controls dir title start",
    )
)


def page(record: ChatRecord) -> str:
    return "".join(html_pieces(record))


def parsed(record: ChatRecord) -> Element:
    root: Element = tinyhtml5.parse(page(record), namespace_html_elements=False)
    return root


def elements(root: Element) -> Iterator[tuple[str, dict[str, str], Element]]:
    for one in root.iter():
        assert isinstance(one.tag, str), "a comment"
        yield one.tag, dict(one.attrib), one


def dangers(root: Element) -> list[str]:
    """Give whatever could run, load or send something."""
    listed = []
    for tag, attributes, _ in elements(root):
        if tag not in TAGS:
            listed.append(f"<{tag}>")
        for name, value in attributes.items():
            is_safe = {
                "href": re.match(r"https?://|mailto:|#m\d+$", value, re.IGNORECASE),
                "src": re.match(r"data:(image/(png|jpeg|gif|webp|bmp)|(audio|video)/\w+);", value),
            }.get(name, name in ATTRIBUTES)
            if not is_safe:
                listed.append(f"<{tag} {name}={value!r}>")
        if tag == "meta" and attributes.get("http-equiv") not in {None, "Content-Security-Policy"}:
            listed.append("<meta http-equiv>")
    return listed


def test_nothing_of_a_hostile_chat_runs_or_is_loaded() -> None:
    root = parsed(hostile_chat())
    assert dangers(root) == []
    assert len(root.findall(".//style")) == 1
    assert "alert(1)" in "".join(root.itertext())


@pytest.mark.parametrize(
    "danger",
    [
        "<script>a</script>", "<p onclick=a>", "<img src=http://a>", "<a href=javascript:a>",
        "<iframe>", "<p style='background:url(http://a)'>", "<meta http-equiv=refresh content=0>",
        "<svg><a/></svg>", "<img src='data:image/svg+xml,a'>", "<a href='data:text/html,a'>",
    ],
)  # fmt: skip
def test_the_judge_sees_dangers(danger: str) -> None:
    root = tinyhtml5.parse(f"<!DOCTYPE html>{danger}", namespace_html_elements=False)
    assert dangers(root)


def test_the_policy_allows_only_the_style_sheet_and_what_is_inside() -> None:
    root = parsed(chat(*TREE))
    (policy,) = (
        one.attrib["content"]
        for one in root.findall(".//meta")
        if one.attrib.get("http-equiv") == "Content-Security-Policy"
    )
    style = root.find(".//style")
    assert style is not None
    assert style.text is not None
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; media-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style.text
    assert "@import" not in style.text
    assert "prefers-color-scheme: dark" in style.text


def one(message: Message, **more: Any) -> MessageRecord:
    return MessageRecord(
        id="m", parent_id=None, message=message, created_ms=1_700_000_000_000, updated_ms=0, **more
    )


def test_a_page_has_titles_times_code_with_colours_and_folded_thinking() -> None:
    answer = Message(
        "assistant",
        [ThinkingContent("Let me *see*."), TextContent("So:\n\n```python\ndef f(): ...\n```\n")],
        tool_calls=[ToolCall(id="1", name="clock", args={"zone": "UTC"})],
    )
    root = parsed(chat(one(answer, model="local://tiny", state="stopped")))
    assert [h.text for h in root.findall(".//h1")] == ["A chat"]
    assert "".join(root.findall(".//article/h2")[0].itertext()) == (
        "local://tiny 2023-11-14 22:13 UTC"
    )
    folded = ["".join(d.itertext()).split() for d in root.findall(".//details")]
    assert folded[0] == ["Thinking", "Let", "me", "see."]
    assert folded[1][:3] == ["Tool", "call:", "clock"]
    assert [s.text for s in root.findall(".//pre/code/span") if s.get("class") == "k"] == ["def"]
    assert "This answer was stopped." in "".join(root.itertext())
    assert "local://tiny" in [d.text for d in root.findall(".//dd")]


def test_a_picture_is_inside_with_the_type_that_its_bytes_have() -> None:
    picture = ImageContent(data=png(), mime_type="text/html", name="cat.png")
    (image,) = parsed(chat(one(Message("user", [picture])))).findall(".//img")
    assert image.attrib["src"].startswith("data:image/png;base64,")
    assert "cat.png" in image.attrib["alt"]


def test_branches_lead_back_to_where_they_fork() -> None:
    root = parsed(chat(*TREE, leaf="c1"))
    (branch,) = root.findall(".//h2[@class='branch']")
    assert "".join(branch.itertext()) == "Branch 2: after b"
    (link,) = branch.findall("a")
    target = link.attrib["href"].removeprefix("#")
    assert [a.attrib["id"] for a in root.findall(".//article")].count(target) == 1
    shown = ["".join(a.itertext()).split()[-1] for a in root.findall(".//article")]
    assert shown == ["a", "b", "c1", "c2"]


@pytest.mark.parametrize(
    "text",
    ["[" * 90_000, "![" * 45_000, "*a_b" * 25_000, "`" * 99_999, "> " * 50_000, "|a" * 50_000],
)
def test_a_text_that_is_hard_to_parse_takes_seconds_at_most(text: str) -> None:
    before = process_time()
    page(chat(one(Message("user", text))))
    assert process_time() - before < 4


def test_all_texts_of_a_hostile_chat_are_there() -> None:
    text = "".join(parsed(chat(one(Message("tool", "\n".join(EVIL))))).itertext())
    for evil in EVIL[:5]:
        assert evil in text
