"""An exported page in a real browser: nothing of a hostile chat runs, and it can be read."""

import io
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from operator import sub
from pathlib import Path

import pytest
from PIL import Image

from ollm_tui.exchange.html import html_pieces
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord, MessageRecord
from tests.exchange.hostile import hostile_chat
from tests.store.test_records import chat
from tests.support.http_server import Received, Reply, Server, in_thread
from tests.support.picture_bytes import png

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium or Chrome to open a page"),
]

RAN = "9001"
SCRIPT = f"document.title={RAN}"
HOSTS = ("evil.example", "ok.example", "a.example", "a")
"""Those that the hostile chat names."""
SIZE = (900, 1400)
LIGHT, DARK = (255, 255, 255), (13, 17, 23)


async def anything(_request: Received, reply: Reply) -> None:
    await reply.whole(png(), content_type="image/png")


@pytest.fixture
def world() -> Iterator[Server]:
    """Every address of the web, on loopback."""
    with in_thread(anything) as server:
        yield server


def opened(page: str, world: Server, folder: Path, *arguments: str) -> str:
    """Open a page and wait for all that it does; return its elements as they are then."""
    file = folder / "page.html"
    file.write_text(page, "utf-8", "replace")
    assert BROWSER is not None
    command = [
        *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000"),
        f"--host-resolver-rules=MAP * 127.0.0.1:{world.port}",
        *(*arguments, file.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, timeout=90, check=True)
    return done.stdout.decode("utf-8", "replace")


def loaded(world: Server) -> list[str]:
    """Return what was asked of the hosts that the chat names."""
    hosts = [request.headers.get("host", "").partition(":")[0] for request in world.received]
    return [host for host in hosts if host in HOSTS]


def test_nothing_of_a_hostile_chat_runs_or_is_loaded(world: Server, tmp_path: Path) -> None:
    page = "".join(html_pieces(hostile_chat(SCRIPT)))
    elements = opened(page, world, tmp_path, "--dump-dom")
    title = re.search(r"<title>(.*?)</title>", elements, re.DOTALL)
    assert title is not None
    assert title[1].strip() != RAN
    assert elements.count("<article") == page.count("<article") > 200
    assert SCRIPT in elements
    assert loaded(world) == []


def test_the_same_browser_runs_and_loads_what_a_page_without_protection_has(
    world: Server, tmp_path: Path
) -> None:
    page = f"<!DOCTYPE html><script>{SCRIPT}</script><img src=http://evil.example/track.gif>"
    assert f"<title>{RAN}</title>" in opened(page, world, tmp_path, "--dump-dom")
    assert loaded(world) == ["evil.example"]


def conversation() -> ChatRecord:
    answer: list[Block] = [
        ThinkingContent("They want a *function*."),
        TextContent(
            "Here it is:\n\n```python\ndef double(x: int) -> int:\n    return 2 * x  # twice\n```\n"
            "\n| input | output |\n|---|--:|\n| 1 | 2 |\n\n> Quoted, with `code` and a"
            " [link](https://example.com).\n\n1. one\n2. two\n"
        ),
    ]
    messages = (
        Message("user", [TextContent("Double a number."), ImageContent(data=png(120, 60))]),
        Message("assistant", answer, tool_calls=[ToolCall(id="1", name="run", args={"x": 1})]),
        Message("tool", "2", name="run", tool_call_id="1"),
        Message("assistant", "It works. \u05e9\u05dc\u05d5\u05dd"),
    )
    records = [
        MessageRecord(
            id=str(number),
            parent_id=str(number - 1) if number else None,
            message=message,
            created_ms=1_700_000_000_000 + number * 60_000,
            updated_ms=0,
            model="ollama://qwen3:8b" if message.role == "assistant" else None,
            state="stopped" if number == 3 else "complete",
        )
        for number, message in enumerate(messages)
    ]
    return chat(*records)


@pytest.mark.parametrize(("scheme", "back"), [(1, LIGHT), (0, DARK)], ids=["light", "dark"])
def test_a_page_can_be_read_in_light_and_dark(
    world: Server, tmp_path: Path, scheme: int, back: tuple[int, int, int]
) -> None:
    target = tmp_path / "picture.png"
    page = "".join(html_pieces(conversation()))
    opened(
        *(page, world, tmp_path, f"--screenshot={target}", "--hide-scrollbars"),
        f"--window-size={SIZE[0]},{SIZE[1]}",
        f"--blink-settings=preferredColorScheme={scheme}",
    )
    picture = Image.open(io.BytesIO(target.read_bytes())).convert("RGB")
    assert picture.getpixel((2, 2)) == back
    content = picture.tobytes()
    colours = Counter(zip(content[::3], content[1::3], content[2::3], strict=True))
    # Text of the page's own colour, the frames, the user's message, and code in several colours.
    clear = sum(n for one, n in colours.items() if sum(map(abs, map(sub, one, back))) > 300)
    assert clear > 3_000
    assert sum(n > 30 for n in colours.values()) > 20
