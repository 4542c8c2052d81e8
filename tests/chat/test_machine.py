"""Anything may happen to a chat in any order, and its promises hold.

`OLLM_SOAK=20` in the environment makes it twenty times as long.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall
from tests.chat.machine import FULL, MODELS, PROMPT_S, TOOLS, WINDOW, Bench, OnePrompt
from tests.chat.puppets import NoEnd, Step
from tests.support.seeds import in_parts

pytestmark = pytest.mark.slow

SEQUENCES, FILE_SEQUENCES, STEPS, PARTS = 400, 40, 30, 4
LONGER = int(os.environ.get("OLLM_SOAK", "1"))  # read before the tests' environment is cleaned
PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "Thought: hm.\n",
            "Action: look\nAction Input: {}\n",
            "Action: hang\nAction Input: {}\nObservation: x",
            "Action: look\n",
            "Final Answer: yes\n",
            '{"name": "look", "arguments": {}}',
            '{"name": "look", "argum',
            "<tool_call>",
        ]
    ),
)
DELTAS = st.builds(TextDelta, PIECES) | st.builds(ThinkingDelta, st.text(max_size=5))
FAILURES: Mapping[str, Callable[[], Step]] = {
    "busy": lambda: ErrorEvent(
        AIError(ErrorCode.SERVICE_UNAVAILABLE, "Busy.", status=503, retryable=True)
    ),
    "cut": lambda: ErrorEvent(AIError(ErrorCode.STREAM_INCOMPLETE, "Cut.")),
    "no tools": lambda: ErrorEvent(
        AIError(ErrorCode.UNSUPPORTED_FEATURE, "m does not support tools", status=400)
    ),
    "raised": lambda: AIError(ErrorCode.ENGINE_ERROR, "Broken."),
    "unexpected": lambda: ValueError("unexpected"),
    "no end": NoEnd,
}


def idle(machine: "ChatMachine") -> bool:
    return machine.bench.is_idle


def busy(machine: "ChatMachine") -> bool:
    return not machine.bench.is_idle


def asked(machine: "ChatMachine") -> bool:
    return machine.bench.provider.waits


def in_tools(machine: "ChatMachine") -> bool:
    return bool(machine.bench.approver.pending)


class ChatMachine(RuleBasedStateMachine):
    """The rules: what a person, a model, a server, a tool and a disk may do next."""

    def __init__(self, file: Path | None = None) -> None:
        super().__init__()
        self.bench = Bench(file)

    # The person

    @precondition(idle)
    @rule(text=st.sampled_from(["hi", "and?", " "]), with_tools=st.booleans())
    def send(self, text: str, with_tools: bool) -> None:
        options = ChatOptions(tools=None if with_tools else ())
        self.bench.begin(lambda signal: self.bench.client.chat(text, options, signal))

    @precondition(idle)
    @rule()
    def retry(self) -> None:
        prompt = self.bench.begin(lambda signal: self.bench.client.retry(signal=signal))
        asked_before = any(message.role == "user" for message in self.bench.messages)
        assert asked_before == (prompt.refused is None)

    @precondition(idle)
    @precondition(lambda self: bool(self.bench.messages))
    @rule()
    def go_on(self) -> None:
        self.bench.begin(lambda signal: self.bench.client.go_on(signal=signal))

    @precondition(busy)
    @rule()
    def send_too_early(self) -> None:
        second = self.bench.begin(lambda signal: self.bench.client.chat("me too", signal=signal))
        assert second.refused is not None
        assert second.refused.code == ErrorCode.CONFLICT

    @precondition(busy)
    @rule(way=st.sampled_from(["abort", "leave", "raise", "cancel", "cancel natively", "all"]))
    def stop(self, way: str) -> None:
        bench, prompt = self.bench, self.bench.prompt
        assert prompt is not None
        assert prompt.task is not None
        reads = prompt.may_read.is_set()
        match way:
            case "abort":
                bench.do(bench.signal.abort, bench.signal.abort)
                if reads:
                    self._was_aborted(prompt)
            case "leave" | "raise":
                bench.do(lambda: prompt.leave(raising=way == "raise"))
                assert prompt.how == ("raised" if way == "raise" else "left")
            case "cancel":
                bench.do(prompt.cancel)
            case "cancel natively":
                bench.do(prompt.task.cancel, prompt.task.cancel)
            case _:
                bench.do(bench.signal.abort, prompt.task.cancel, prompt.cancel)
        if way.startswith("cancel") or way == "all":
            assert prompt.how == "cancelled"

    def _was_aborted(self, prompt: OnePrompt) -> None:
        assert prompt.how == "read"
        end = prompt.seen[-1]
        assert isinstance(end, chat_events.Finish)
        assert end.reason == "abort"

    @precondition(busy)
    @rule()
    def read_slowly_or_not(self) -> None:
        prompt = self.bench.prompt
        assert prompt is not None
        if prompt.may_read.is_set():
            prompt.may_read = anyio.Event()
        else:
            self.bench.do(prompt.may_read.set)

    @precondition(idle)
    @rule(model=st.sampled_from(MODELS), has_tools=st.booleans())
    def switch(self, model: str, has_tools: bool) -> None:
        self.bench.conversation.model = model
        self.bench.conversation.tools = TOOLS if has_tools else ()

    @precondition(in_tools)
    @rule(data=st.data(), allowed=st.booleans())
    def answer_for_a_call(self, data: st.DataObject, allowed: bool) -> None:
        call_id = data.draw(st.sampled_from([*self.bench.approver.pending]))
        self.bench.allowed += allowed
        self.bench.do(lambda: self.bench.approver.say(call_id, allowed=allowed))

    @precondition(in_tools)
    @rule(allowed=st.booleans())
    def answer_for_all_calls(self, allowed: bool) -> None:
        approver = self.bench.approver
        waiting = [*approver.pending]
        self.bench.allowed += len(waiting) * allowed
        self.bench.do(*(partial(approver.say, id_, allowed=allowed) for id_ in waiting))

    # The model and its server

    @precondition(asked)
    @rule(deltas=st.lists(DELTAS, min_size=1, max_size=4), times=st.sampled_from([1, 1, 20]))
    def chunk(self, deltas: list[TextDelta | ThinkingDelta], times: int) -> None:
        self.bench.give(*deltas * times)

    @precondition(asked)
    @rule(names=st.lists(st.sampled_from([*TOOLS, "nobody"]), min_size=1, max_size=4))
    def tool_calls(self, names: list[str]) -> None:
        """Like a server that counts its calls from zero in each answer."""
        calls = [ToolCall(id=f"call_{n}", name=name, args={}) for n, name in enumerate(names)]
        self.bench.give(*map(ToolCallEvent, calls), Finish("tool_calls"))

    @precondition(asked)
    @rule(names=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3))
    def tool_calls_that_are_allowed(self, names: list[str]) -> None:
        self.tool_calls(names)
        if self.bench.approver.pending:
            self.answer_for_all_calls(allowed=True)
        if self.bench.tools["hang"].running:
            self.end_the_hanging_tools()

    @precondition(asked)
    @rule(reason=st.sampled_from(["stop", "length", "tool_calls"]))
    def finish(self, reason: str) -> None:
        self.bench.give(Finish(reason))

    @precondition(asked)
    @rule(failure=st.sampled_from(sorted(FAILURES)))
    def fail(self, failure: str) -> None:
        self.bench.give(FAILURES[failure]())

    @precondition(lambda self: bool(self.bench.retry_waits))
    @rule()
    def wait_for_the_retry(self) -> None:
        self.bench.do(self.bench.retry_waits[-1].set)

    # Tools, disk, clock

    @precondition(lambda self: self.bench.tools["hang"].running > 0)
    @rule()
    def end_the_hanging_tools(self) -> None:
        self.bench.do(self.bench.tools["hang"].end_all)

    @rule(fails=st.booleans())
    def save_fails_or_works(self, fails: bool) -> None:
        self.bench.keeper.failure = FULL if fails else None

    @rule(used=st.sampled_from([10, 10, WINDOW - 1, WINDOW + 1]))
    def context_fills_or_empties(self, used: int) -> None:
        self.bench.provider.tokens = used

    @precondition(busy)
    @rule(seconds=st.sampled_from([1.0, 40.0, PROMPT_S + 1]))
    def time_goes_by(self, seconds: float) -> None:
        self.bench.skip(seconds)

    # What must hold

    @invariant()
    def promises_hold(self) -> None:
        self.bench.check()
        if self.bench.is_idle:
            self.bench.check_ended()

    def teardown(self) -> None:
        """End what goes on; the client then answers as if nothing had happened."""
        bench = self.bench
        try:
            if bench.prompt is not None and not bench.is_idle:
                bench.do(bench.prompt.cancel)
            bench.keeper.failure, bench.provider.tokens = None, 10
            bench.conversation.model, bench.conversation.tools = MODELS[0], ()
            last = bench.begin(lambda signal: bench.client.chat("still there?", None, signal))
            bench.give(TextDelta("yes"), Finish("stop"))
            assert last.seen[-1] == chat_events.Finish(reason="stop")
            assert bench.conversation.last_answer() == "yes"
            assert bench.client.saving.problem is None
            self.promises_hold()
        finally:
            bench.close()


def lasting(sequences: int) -> settings:
    return settings(
        max_examples=sequences * LONGER,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=False,  # else every part tries the same sequences where CI is set
        suppress_health_check=[*HealthCheck],
    )


@pytest.fixture(autouse=True)
def _journal_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ollm_tui.chat.saving.PACE_S", 0.0)


@in_parts(PARTS)
def test_the_promises_of_a_chat_hold_whatever_happens(part: int) -> None:
    run_state_machine_as_test(ChatMachine, settings=lasting(SEQUENCES // PARTS))


async def at_once(work: Callable[..., object], *given: object, **_: object) -> object:
    """Wait for a thread with the whole loop, so that the same steps lead to the same end."""
    try:
        return work(*given)
    finally:
        await anyio.lowlevel.checkpoint()


async def result_at_once(future: Future[object]) -> object:
    """Wait for the thread of the chats in the same way."""
    return await at_once(future.result)


@pytest.mark.slow
def test_they_hold_of_what_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyio.to_thread.run_sync", at_once)
    monkeypatch.setattr("ollm_tui.store.database._result_of", result_at_once)
    files = (tmp_path / f"{number}.db" for number in count())

    class OnFile(ChatMachine):
        def __init__(self) -> None:
            super().__init__(next(files))

    run_state_machine_as_test(OnFile, settings=lasting(FILE_SEQUENCES))
