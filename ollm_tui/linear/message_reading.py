"""Messages of the open chat, read out: with their marks, and with their times if those are on."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from ollm_tui.chat.prompt import is_question
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.session import ChatSession
from ollm_tui.linear.answer_text import LinearText, words_of
from ollm_tui.linear.questions import Questions
from ollm_tui.protocol.message import Message
from ollm_tui.store.marks import MARKED

_ENDS: Final = {
    "stopped": "Stopped.",
    "failed": "The answer failed here.",
    "interrupted": "ollm quit before the answer was complete.",
}
_MAX_MESSAGE_LENGTH: Final = 120
MAX_MATCHES: Final = 20


class MessageReading:
    """Reads messages by their position, from 0; people count them from 1."""

    def __init__(
        self, session: ChatSession, questions: Questions, write: Callable[[str], None]
    ) -> None:
        self._session, self._questions, self._write = session, questions, write
        self._says_times = False

    @property
    def _messages(self) -> list[Message]:
        return self._session.client.conversation.messages

    async def read(self, positions: Iterable[int]) -> None:
        """Write messages, with who wrote them."""
        times = await self._times()
        for at in positions:
            self._read(self._messages[at], times.get(at, ""))

    def _read(self, message: Message, time: str) -> None:
        if message.role not in {"user", "assistant"} or not message.text.strip():
            return
        facts = ["marked" if message.metadata.get(MARKED) is True else "", time]
        about = "".join(f", {fact}" for fact in facts if fact)
        if message.role == "user":
            self._write(f"You{about}: {message.text}")
        else:
            reader = LinearText()
            lines = [*reader.feed(message.text), *reader.finish()]
            self._write("\n".join([f"Answer{about}:", *lines]))
        if ended := _ENDS.get(str(message.metadata.get("ended", ""))):
            self._write(ended)

    async def read_chat(self) -> None:
        """Write the title of the open chat, and its last question with the answer."""
        self.name_chat()
        asked = self._questions_asked()
        await self.read(range(asked[-1] if asked else 0, len(self._messages)))

    def name_chat(self) -> None:
        """Write the title of the open chat."""
        title = clean_line(self._session.client.conversation.title or "without a title")
        self._write(f"Chat “{title}”, {counted(len(self._messages), 'message')}.")

    def _questions_asked(self) -> list[int]:
        return [at for at, message in enumerate(self._messages) if is_question(message)]

    def position(self, number: str) -> int | None:
        """Return the message of a number, by default the newest answer; None if there is none."""
        text = number.strip()
        if text:
            is_number = text.isascii() and text.isdigit() and len(text) < 7
            at = int(text) - 1 if is_number else -1
        else:
            written = [at for at, one in enumerate(self._messages) if one.role == "assistant"]
            at = written[-1] if written else len(self._messages) - 1
        if not self._messages:
            self._write("No messages yet.")
        elif not 0 <= at < len(self._messages):
            self._write(f"Error: There are messages 1 to {len(self._messages)}.")
        else:
            return at
        return None

    async def go(self, number: str) -> None:
        """Read a question and its answer, by the number of the question."""
        asked, text = self._questions_asked(), number.strip().removeprefix("#")
        chosen: int | None = int(text) - 1 if text.isascii() and text.isdigit() else None
        if not text and asked:
            rows = [self._first_words(at) for at in asked]
            chosen = await self._questions.choose("Questions", rows)
            if chosen is None:
                return
        if chosen is None or not 0 <= chosen < len(asked):
            self._write(f"Error: This chat has {counted(len(asked), 'question')}.")
            return
        end = asked[chosen + 1] if chosen + 1 < len(asked) else len(self._messages)
        await self.read(range(asked[chosen], end))

    def _first_words(self, at: int) -> str:
        return words_of(self._messages[at].text[:_MAX_MESSAGE_LENGTH]) or "no text"

    async def find(self, text: str) -> None:
        """Write the lines of the open chat that contain a text."""
        words = text or await self._questions.line("Text to find: ") or ""
        wanted = words.strip().casefold()
        if not wanted:
            return
        matches = [
            f"Message {number}, {_writer(message)}: {words_of(line)}"
            for number, message in enumerate(self._messages, 1)
            for line in message.text.splitlines()
            if wanted in line.casefold()
        ]
        if not matches:
            self._write(f"No message of this chat has {clean_line(words)}.")
            return
        self._write("\n".join(matches[:MAX_MATCHES]))
        if (more := len(matches) - MAX_MATCHES) > 0:
            self._write(f"And {counted(more, 'more line')}.")
        self._write("/read N reads a message.")

    # Marks

    async def mark(self, number: str) -> None:
        """Mark a message, or take its mark away."""
        if (at := self.position(number)) is None:
            return
        is_marked = self._messages[at].metadata.get(MARKED) is not True
        branches = self._session.runtime.branches
        if not await branches.mark(self._session.client, at, is_marked=is_marked):
            self._write("This message cannot be marked now.")
        elif is_marked:
            self._write(f"Marked message {at + 1}. /marks lists the marks.")
        else:
            self._write(f"The mark of message {at + 1} was removed.")

    async def list_marks(self, _text: str = "") -> None:
        """List the marked messages, to read one."""
        marked = [at for at, one in enumerate(self._messages) if one.metadata.get(MARKED) is True]
        if not marked:
            self._write("No marks yet. /mark marks the newest answer, /mark N message N.")
            return
        rows = [
            f"Message {at + 1}, {_writer(self._messages[at])}: {self._first_words(at)}"
            for at in marked
        ]
        chosen = await self._questions.choose("Marked messages", rows)
        if chosen is not None:
            await self.read([marked[chosen]])

    # Times

    async def switch_times(self, _text: str = "") -> None:
        """Read messages with their times from now on, or no longer."""
        self._says_times = not self._says_times
        if self._says_times:
            self._write("Messages are read with their times. /times ends it.")
        else:
            self._write("Messages are read without their times.")

    async def _times(self) -> Mapping[int, str]:
        if not self._says_times:
            return {}
        branches, client = self._session.runtime.branches, self._session.client
        times = await branches.times(client)
        return {at: moment(times.get(one, 0)) for at, one in enumerate(branches.ids(client))}


def _writer(message: Message) -> str:
    return "you" if message.role == "user" else "answer"


def moment(milliseconds: int, form: str = "%-d %B %Y at %H:%M") -> str:
    """Write a local time in words; empty if it is not known."""
    try:
        then = datetime.fromtimestamp(milliseconds / 1000).astimezone() if milliseconds else None
    except (OSError, OverflowError, ValueError):  # a damaged file, or an imported chat
        return ""
    return f"{then:{form}}" if then is not None else ""
