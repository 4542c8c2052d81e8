"""The least Textual chat that streams Markdown as Textual recommends: `bare_textual.py URL`."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Markdown

if TYPE_CHECKING:
    from textual.worker import Worker


async def answer_to(url: str, prompt: str) -> AsyncGenerator[str, None]:
    """Yield the pieces; closing the generator hangs up."""
    server = urlsplit(url)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)
    question = {"model": "fake", "messages": [{"role": "user", "content": prompt}]}
    body = json.dumps(question).encode()
    head = f"POST /api/chat HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        await reader.readuntil(b"\r\n\r\n")
        while size := int(await reader.readline(), 16):  # the server sends one line a chunk
            line = (await reader.readexactly(size + 2))[:-2]
            yield json.loads(line)["message"]["content"]
    finally:
        writer.close()


class BareChat(App[None]):
    """One Markdown widget an answer, in a container that follows its end."""

    CSS = "Input { dock: bottom; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "stop", "Stop"),
        ("pageup", "page(-1)", "Up"),
        ("pagedown", "page(1)", "Down"),
    ]

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._work: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield VerticalScroll()
        yield Input(placeholder="Say something")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.query_one(VerticalScroll).anchor()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.clear()
        self._work = self.run_worker(self._answer(event.value))

    async def _answer(self, prompt: str) -> None:
        box, shown = self.query_one(VerticalScroll), Markdown()
        await box.mount_all([Markdown(f"> {prompt}"), shown])
        box.anchor()
        stream = Markdown.get_stream(shown)
        try:
            async with aclosing(answer_to(self._url, prompt)) as pieces:
                async for piece in pieces:
                    await stream.write(piece)
        finally:
            await stream.stop()

    def action_stop(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def action_page(self, way: int) -> None:
        box = self.query_one(VerticalScroll)
        (box.scroll_page_up if way < 0 else box.scroll_page_down)(animate=False)


if __name__ == "__main__":
    BareChat(sys.argv[1]).run()
