"""What a conversation asks the server for.

    BENCH n=5000 r=200 id=12      5,000 tokens at 200 a second, ending in QDONE12; r=0: no limit
    BENCH n=900 r=50 every=10 id=4 with a marked word after every ten tokens
    BENCH doc=rules whole=1 id=3  one of the stalling documents in one piece; else token by token

Anything else, such as a request for a title, gets a few words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.terminal.answer import document_pieces, pieces

MARK = "BENCH"
_NUMBER = re.compile(r"\b(n|r|id|every|whole)=([\d.]+)")
_DOCUMENT = re.compile(r"\bdoc=(\w+)")
_SIDE_JOB = re.compile(
    r"\btitle\b.{0,80}(generat|conversation|chat|thread)|generat.{0,60}\btitle\b|"
    r"summari[sz]e (this|the) conversation",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to give."""

    ident: int
    tokens: int = 200
    rate: float = 50.0
    """Tokens a second; 0 is as fast as the client reads."""
    document: str = ""
    whole: bool = False
    every: int = 0
    """After how many tokens a marked word comes; 0 is never."""

    def pieces(self) -> list[str]:
        """Return the texts to send, one a chunk."""
        if self.document:
            return document_pieces(self.document, self.ident, whole=self.whole)
        return pieces(self.tokens, self.ident, self.every)


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or parts that hold one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def job_of(messages: Sequence[Mapping[str, object]], *, has_tools: bool = False) -> Job | None:
    """Return what the newest prompt asks for; None for work that a program does on the side."""
    written, answered = [], False
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("role") == "user":
            written.append(text)
            answered = answered and MARK not in text
        elif message.get("role") == "assistant" and text and not message.get("tool_calls"):
            answered = True  # what follows an answer is a side job: suggestions, checks
    # some programs add reminders as a further message of the user's
    prompts = [text for text in written if MARK in text]
    rules = " ".join(
        text_of(m.get("content")) for m in messages if m.get("role") in {"system", "developer"}
    )
    aside = not has_tools and _SIDE_JOB.search(
        f"{rules[:2000]} {written[-1][:2000] if written else ''}"
    )
    return None if not prompts or answered or aside else parse_job(prompts[-1])


def parse_job(prompt: str) -> Job:
    """Read one prompt."""
    numbers = {key: float(value) for key, value in _NUMBER.findall(prompt)}
    document = _DOCUMENT.search(prompt)
    return Job(
        ident=int(numbers.get("id", 0)),
        tokens=int(numbers.get("n", 200)),
        rate=numbers.get("r", 50.0),
        document=document[1] if document else "",
        whole=bool(numbers.get("whole")),
        every=int(numbers.get("every", 0)),
    )
