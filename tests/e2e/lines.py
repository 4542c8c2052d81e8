"""A chat in lines on a real terminal, and an Ollama that answers by the first word."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.fake_ollama import DONE, FakeOllama, Line, text_line
from tests.e2e.conftest import Start
from tests.support.http_server import Reply
from tests.support.pty_session import PtySession
from tests.support.vt import tokens

LONG = "It was a dark night. The *wind* blew.\n\n- one\n- two\n\n```sh\nls\n```\n"
OF_THE_EDITOR = re.compile(rb"\x1b\[(?:\?2004[hl]|[0-9]*[KCDGP@])")
TIMEOUT_S = 30
END_OF_A_LIST = b"Number, words to filter, or Enter to leave: "


class Scripted(FakeOllama):
    """Answers by the first word of the question."""

    async def _chat(self, reply: Reply) -> None:
        messages = self.requests[-1]["messages"]
        question = next(one for one in reversed(messages) if one["role"] == "user")["content"]
        word, is_result = question.partition(" ")[0], messages[-1]["role"] == "tool"
        self.hangs = word == "forever" or (word == "hold" and is_result)
        self.lines = self.script(word, is_result=is_result)
        await super()._chat(reply)

    def script(self, word: str, *, is_result: bool) -> list[Line]:
        match word:
            case "forever":
                return [text_line("It goes on. "), text_line("And on")]
            case "tool" | "hold" if not is_result:
                arguments = {"path": "notes.md"}
                call: Any = [{"function": {"name": "read_file", "arguments": arguments}}]
                return [text_line("", tool_calls=call), DONE]
            case "tool" | "hold":
                says = text_line(f"The notes say {'hi' if word == 'tool' else 'hold'}. ")
                return [says, DONE] if word == "tool" else [says]
            case "think":
                return [text_line("", thinking="Let me see."), text_line("Yes."), DONE]
            case "fail":
                return [{"error": "the engine died"}]
            case _:
                return [*(text_line(LONG[at : at + 3]) for at in range(0, len(LONG), 3)), DONE]


@contextmanager
def chatting(
    start: Start, home: Path, *arguments: str, env: dict[str, str] | None = None
) -> Iterator[tuple[PtySession, Scripted]]:
    ollama = Scripted()
    ollama.capabilities = ["completion", "tools", "thinking"]
    with ollama.serving():
        everything = {"OLLAMA_HOST": ollama.url} | (env or {})
        with start(home, *(arguments or ("--screen-reader",)), env=everything) as session:
            prompted(session)
            yield session, ollama


def prompted(session: PtySession, prompt: bytes = b"You: ", typed: str | None = None) -> None:
    """Type something, if anything, and wait until a prompt is the last of what arrived."""
    before = len(session.raw)
    if typed is not None:
        session.write(typed)
    session.wait_for(
        lambda: (
            (len(session.raw) > before or typed is None)
            and OF_THE_EDITOR.sub(b"", session.raw).endswith(b"\n" + prompt)
        ),
        timeout=TIMEOUT_S,
    )


def lines_of(session: PtySession) -> list[str]:
    """Return what arrived, without what the line editor does."""
    text = OF_THE_EDITOR.sub(b"", session.raw)
    assert {one.raw for one in tokens(text) if one.kind != "text"} <= {"\r", "\n", "\x08", "\x07"}
    return text.decode().replace("\r\n", "\n").split("\n")
