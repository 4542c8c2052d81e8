"""What engines that speak share: texts in sentences, and jobs that send a piece for each.

A piece is sound of one channel with 16 bits for each sample, lowest byte first.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ollm_tui.engines.host import Job, JobError, Result

MAX_SENTENCE_LENGTH: Final = 500
"""Characters; a longer one is cut at a space, so that its sound comes soon."""
_CLOSING: Final = "\"'\u201d\u2019\u00bb)]"
_WIDE: Final = "\u3002\uff01\uff1f"
"""The marks at the end of sentences in scripts that have no spaces."""
_END: Final = re.compile(
    rf"(?<=[.!?\u2026{_WIDE}])[{re.escape(_CLOSING)}]*(?:\s+|(?<=[{_WIDE}]))|\n\s*\n"
)
_WHITE: Final = re.compile(r"\s+")
_CLAUSE: Final = re.compile(r"[^,;:.!?…]+(?:[,;:.!?…](?!\s|$)[^,;:.!?…]*)*[,;:.!?…]*")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without the space around them."""
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        yield from _cut(_WHITE.sub(" ", text[start:end]).strip())
        start = end


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_SENTENCE_LENGTH:
        at = sentence.rfind(" ", 1, MAX_SENTENCE_LENGTH)
        at = at if at > 0 else MAX_SENTENCE_LENGTH
        yield sentence[:at]
        sentence = sentence[at:].strip()
    if sentence:
        yield sentence


def clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence that end with a mark; `3.5` and `e.g.x` are whole."""
    return [part.strip() for part in _CLAUSE.findall(sentence) if part.strip()]


def speak_sentences(job: Job, rate: int, sound_of: Callable[[str], bytes]) -> Result:
    """Send the sound of each sentence of the job's text as soon as it is made.

    Raises:
        JobError: there is nothing that can be spoken.
    """
    texts = [*sentences(job.data.decode(errors="replace"))]
    samples = 0
    for number, text in enumerate(texts, 1):
        job.check()
        sound = sound_of(text)
        if sound:
            samples += len(sound) // 2
            job.piece(sound, rate=rate)
        job.progress(number, len(texts))
    if not samples:
        raise JobError(
            "There is nothing in the text that can be spoken.", "Write words.", code="BAD_REQUEST"
        )
    return Result({"rate": rate, "duration_s": samples / rate})


def number_of(values: Any, name: str, usual: float, low: float, high: float) -> float:
    """Return a number of a job or of options, within limits."""
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return min(max(float(value), low), high)
