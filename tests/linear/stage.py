"""A chat in lines of which a test types the answers and hears the sentences."""

from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

from tests.linear.test_questions import Answered, Typist


class HeardChat:
    """Stands in for `LinearChat`: what the views use of it."""

    def __init__(self, *typed: str | None, **runtime: Any) -> None:
        self.typist = Typist(*typed)
        self.heard = self.typist.heard
        self.questions = Answered(self.typist)
        self.runtime = SimpleNamespace(**runtime)
        self.session: Any = SimpleNamespace(runtime=self.runtime)
        self.begun: list[Coroutine[Any, Any, object]] = []
        self.used: list[str] = []
        self.next_line = ""
        self.work: Any = SimpleNamespace()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        self.begun.append(work)

    def write(self, text: str) -> None:
        self.typist.say(text)

    def say(self, text: str, kind: str = "info", hint: str | None = None) -> None:
        lead = {"info": "", "warning": "Warning: ", "error": "Error: "}[kind]
        self.typist.say(f"{lead}{text} {hint or ''}".rstrip())

    async def use_model(self, address: str) -> None:
        self.used.append(address)


def heard_chat(*typed: str | None, **runtime: Any) -> Any:
    """Return one of which a test sets what else it needs."""
    return HeardChat(*typed, **runtime)
