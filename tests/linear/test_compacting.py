"""A summary is read, edited or refused before it counts; stopped, the chat is as it was."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ollm_tui.linear import compacting as module
from ollm_tui.linear.compacting import Compacting
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from tests.linear.stage import heard_chat


class Proposal:
    def __init__(self, text: str) -> None:
        self.text = text


class Client:
    """Writes summaries: the next of these, or an error."""

    def __init__(self, *outcomes: str | AIError) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[str] = []

    async def propose_summary(self, focus: str, **_more: object) -> Proposal:
        self.asked.append(focus)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, AIError):
            raise outcome
        return Proposal(outcome)

    async def propose_leaving_out(self) -> Proposal:
        return Proposal("left out")

    def reworded(self, _before: Proposal, text: str) -> Proposal:
        return Proposal(text)


class Stage:
    def __init__(self, client: Client, *typed: str | None, edits: str | None = None) -> None:
        self.chat = heard_chat(*typed)
        self.chat.session.client = client
        self.chat.work.stoppable = self._stoppable
        self.states: list[str] = []
        self.edits = edits
        self.applied: list[str] = []

    async def _stoppable(
        self, work: Callable[[AbortSignal], Awaitable[object]], state: Callable[[], str]
    ) -> object:
        self.states.append(state())
        return await work(AbortSignal())

    async def edited(self, _text: str) -> str | None:
        return self.edits

    async def apply(self, _session: object, proposal: Proposal) -> tuple[str, str | None]:
        self.applied.append(proposal.text)
        return "Summarised 4 messages.", None

    async def run(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        monkeypatch.setattr(module, "apply", self.apply)
        monkeypatch.setattr(module, "proposal_words", lambda *_: "The oldest 4 messages.")
        monkeypatch.setattr(module, "first_words", lambda *_: "You: hello")
        monkeypatch.setattr(module, "can_compact", lambda _: True)
        writing: Any = self
        await Compacting(self.chat, writing).start("names")
        return [*self.chat.heard]


async def test_it_is_read_and_counts_after_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(Client("They met."), "use")
    heard = await stage.run(monkeypatch)
    assert heard[:5] == [
        "Summarising the older messages. Escape stops it.",
        "Summary:",
        "They met.",
        "End of the summary.",
        "The oldest 4 messages.",
    ]
    assert stage.applied == ["They met."]
    assert stage.states == ["Summarising the older messages"]


async def test_what_was_edited_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(Client("They met."), "edit", "use", edits="They met in Graz.")
    assert "They met in Graz." in await stage.run(monkeypatch)
    assert stage.applied == ["They met in Graz."]


async def test_stopped_or_refused_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(Client(AIError(ErrorCode.ABORTED, "stopped")))
    assert (await stage.run(monkeypatch))[-1] == "Stopped. The chat is as it was."
    assert stage.applied == []
    stage = Stage(Client("They met."), None)
    assert (await stage.run(monkeypatch))[-1] == "Nothing was changed."
    assert stage.applied == []


async def test_after_a_failure_another_is_written_or_messages_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failure = AIError(ErrorCode.ENGINE_ERROR, "The engine died.")
    stage = Stage(Client(failure, "They met."), "again", "leave out", "yes")
    heard = await stage.run(monkeypatch)
    assert "Error: The engine died." in heard
    assert "You: hello" in heard
    assert stage.applied == ["left out"]
