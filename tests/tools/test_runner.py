import logging
import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio import from_thread
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import STOPPED, Approval, ToolCall, ToolEffect, ToolOutput, ToolResult
from ollm_tui.tools.define import ToolFailure, tool
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ReadOnly, ToolRunner
from tests.support.strategies import JSON_OBJECTS
from tests.support.tools import AllowAll, ScriptedTool, runner_for, tool_call

Work = Callable[[JsonObject], Awaitable[ToolOutput]]


class Refuse:
    def __init__(self, reason: str | None = None) -> None:
        self._reason = reason

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        return Approval(allowed=False, reason=self._reason)


def raising(error: BaseException) -> Work:
    async def work(_args: JsonObject) -> ToolOutput:
        raise error

    return work


def giving(output: object) -> Work:
    async def work(_args: JsonObject) -> ToolOutput:
        return output  # type: ignore[return-value] # what anybody's tool may give is tried

    return work


async def wait_for_ever(_args: JsonObject) -> ToolOutput:
    await anyio.sleep_forever()
    raise AssertionError


async def run(scripted: ScriptedTool, args: JsonObject | None = None) -> ToolResult:
    return await runner_for(scripted).run(tool_call(args=args))


async def test_a_call_gives_what_the_tool_gives() -> None:
    scripted = ScriptedTool(work=giving(ToolOutput("text", display="shown")))
    result = await run(scripted, {"a": 1})
    assert result == ToolResult(
        call_id="call_1", name="scripted", content="text", display="shown", is_error=False
    )
    assert scripted.calls == [{"a": 1}]


async def test_a_tool_may_call_its_own_answer_an_error() -> None:
    assert (await run(ScriptedTool(work=giving(ToolOutput("no", is_error=True))))).is_error


async def test_an_unknown_tool_is_reported_with_those_on_offer() -> None:
    runner = runner_for(ScriptedTool("read_file"), ScriptedTool("clock"))
    result = await runner.run(tool_call("read_fil"))
    assert result.is_error
    assert result.content == (
        "Not run: the tool 'read_fil' is not offered. Did you mean read_file? "
        "Offered: clock, read_file."
    )


@pytest.mark.parametrize("name", ["write_note", "nowhere", "Scripted", ""])
async def test_a_tool_outside_the_offer_never_reaches_an_approval_nor_runs(name: str) -> None:
    offered, other = ScriptedTool(), ScriptedTool("write_note", effect="write")
    approver = AllowAll()
    offer = ToolRunner(ToolRegistry([offered, other]), approver).offer(["scripted", "nowhere"])
    result = await offer.run(tool_call(name))
    assert result.is_error
    assert result.content.startswith(f"Not run: the tool {name!r} is not offered.")
    assert result.content.endswith("Offered: scripted.")
    assert [schema.name for schema in offer.schemas] == ["scripted"]
    assert approver.asked == []
    assert offered.calls == other.calls == []


async def test_with_no_tools_on_offer_none_runs_and_none_is_listed() -> None:
    scripted = ScriptedTool()
    offer = ToolRunner(ToolRegistry([scripted]), AllowAll()).offer([])
    result = await offer.run(tool_call())
    assert result.is_error
    assert result.content == "Not run: no tools are offered. Answer without them."
    assert offer.schemas == ()
    assert scripted.calls == []


async def test_arguments_that_are_no_object_are_never_run_and_the_correction_is_explained() -> None:
    scripted = ScriptedTool()
    call = ToolCall(id="call_1", name="scripted", args=None, raw_args='{"a": 1')
    result = await runner_for(scripted).run(call)
    assert result.is_error
    assert "not one JSON object. Call it again with an object" in result.content
    assert scripted.calls == []


async def test_arguments_that_do_not_fit_are_not_run_and_no_approval_is_asked_for() -> None:
    scripted = ScriptedTool(parameters={"type": "object", "required": ["path"]})
    approver = AllowAll()
    result = await runner_for(scripted, approver=approver).run(tool_call())
    assert result.is_error
    assert result.content == (
        "Not run: the arguments of scripted do not fit. The arguments object lacks "
        '"path". Correct them and call it again.'
    )
    assert scripted.calls == []
    assert approver.asked == []


async def test_a_schema_that_cannot_be_used_is_a_result() -> None:
    scripted = ScriptedTool(parameters={"type": "strange"})
    result = await run(scripted)
    assert result.is_error
    assert "schema of scripted cannot be used" in result.content
    assert scripted.calls == []


@pytest.mark.parametrize(
    ("reason", "content"),
    [
        (None, "Not run: it was not allowed."),
        ("Too risky.", "Not run: it was not allowed. Too risky."),
    ],
)
async def test_denied_is_reported_with_the_reason_and_is_not_failed(
    reason: str | None, content: str
) -> None:
    scripted = ScriptedTool()
    result = await runner_for(scripted, approver=Refuse(reason)).run(tool_call())
    assert result.content == content
    assert not result.is_error
    assert scripted.calls == []


async def test_an_approver_that_fails_allows_nothing() -> None:
    class Broken:
        async def approve(self, call: ToolCall, tool: Tool) -> Approval:
            raise RuntimeError("no screen")

    scripted = ScriptedTool()
    result = await runner_for(scripted, approver=Broken()).run(tool_call())
    assert result.is_error
    assert "RuntimeError: no screen" in result.content
    assert scripted.calls == []


async def test_a_tool_cannot_change_the_call_that_was_shown() -> None:
    async def change(args: JsonObject) -> ToolOutput:
        args["a"] = "changed"
        return ToolOutput("")

    call = tool_call(args={"a": {"b": 1}})
    await runner_for(ScriptedTool(work=change)).run(call)
    assert call.args == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ValueError("bad\n  value"), "The tool failed: ValueError: bad value"),
        (KeyError(), "The tool failed: KeyError"),
        (SystemExit(3), "The tool failed: SystemExit: 3"),
        (ExceptionGroup("many", [OSError("disk")]), "The tool failed: OSError: disk"),
        (ValueError("x" * 9000), f"The tool failed: ValueError: {'x' * 500}"),
        (ToolFailure("There is no such file."), "There is no such file."),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_tool_raises_is_a_result_without_traceback(
    error: BaseException, content: str
) -> None:
    result = await run(ScriptedTool(work=raising(error)))
    assert result.is_error
    assert result.content == content


async def test_the_traceback_of_a_failure_goes_to_the_log_under_the_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        await run(ScriptedTool(work=raising(ValueError("bad"))))
    (record,) = caplog.records
    assert "call_1" in record.getMessage()
    assert record.exc_info
    assert isinstance(record.exc_info[1], ValueError)


async def test_a_failure_that_the_tool_expects_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await run(ScriptedTool(work=raising(ToolFailure("no"))))
    assert caplog.records == []


@pytest.mark.parametrize("output", [None, "text", ToolOutput(5)])  # type: ignore[arg-type] # tried
async def test_an_answer_that_is_no_text_is_a_failure(output: object) -> None:
    result = await run(ScriptedTool(work=giving(output)))
    assert result.is_error
    assert "TypeError" in result.content


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    result = await run(ScriptedTool(work=wait_for_ever, timeout_s=0.01))
    assert result.is_error
    assert result.content == "Stopped: it took longer than 0.01 s."


async def test_the_time_limit_does_not_run_during_an_approval() -> None:
    class Slow:
        async def approve(self, call: ToolCall, tool: Tool) -> Approval:
            assert anyio.current_effective_deadline() == float("inf")
            return Approval(allowed=True)

    runner = runner_for(ScriptedTool(timeout_s=0.01), approver=Slow())
    assert (await runner.run(tool_call())).content == "done"


async def test_a_tool_that_cancels_itself_fails_alone() -> None:
    async def cancel_itself(_args: JsonObject) -> ToolOutput:
        raise anyio.get_cancelled_exc_class()

    runner = runner_for(ScriptedTool(work=cancel_itself), ScriptedTool("sibling"))
    result = await runner.run(tool_call())
    assert result.is_error
    assert result.content == "It was cancelled from inside and gave no result."
    assert (await runner.run(tool_call("sibling", id="call_2"))).content == "done"


async def test_a_plain_function_that_reads_is_left_alone_when_its_time_is_over() -> None:
    go_on = threading.Event()

    @tool(effect="read", timeout_s=0.01)
    def hang() -> str:
        """Hang."""
        go_on.wait(20)
        return "late"

    try:
        result = await runner_for(hang).run(tool_call("hang"))
    finally:
        go_on.set()
    assert result.content == "Stopped: it took longer than 0.01 s."


async def test_a_plain_function_that_changes_something_is_waited_for_and_its_result_counts() -> (
    None
):
    begun, over = anyio.Event(), threading.Event()

    @tool(effect="write", timeout_s=60)
    def write() -> str:
        """Write."""
        from_thread.run_sync(begun.set)
        over.wait(20)
        return "written"

    runner = runner_for(write)
    async with anyio.create_task_group() as group:
        group.start_soon(runner.run, tool_call("write"))
        await begun.wait()
        group.cancel_scope.cancel()
        over.set()
    stored = runner.result_of("call_1")
    assert stored is not None
    assert stored.content == "written"


async def test_a_cancellation_goes_through_and_leaves_the_call_stopped() -> None:
    begun = anyio.Event()

    async def work(args: JsonObject) -> ToolOutput:
        begun.set()
        return await wait_for_ever(args)

    scripted = ScriptedTool(work=work)
    runner = runner_for(scripted)
    ended: list[ToolResult] = []

    async def call() -> None:
        ended.append(await runner.run(tool_call()))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await begun.wait()
        assert runner.result_of("call_1") is None
        group.cancel_scope.cancel()
    assert ended == []
    stopped = ToolResult(
        call_id="call_1",
        name="scripted",
        content=STOPPED,
        is_error=True,
        interruption="stopped",
    )
    assert runner.result_of("call_1") == stopped
    assert await runner.run(tool_call()) == stopped
    assert len(scripted.calls) == 1


async def test_a_cancellation_during_an_approval_leaves_the_call_stopped() -> None:
    asked = anyio.Event()

    class Never:
        async def approve(self, call: ToolCall, tool: Tool) -> Approval:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

    scripted = ScriptedTool()
    runner = runner_for(scripted, approver=Never())
    async with anyio.create_task_group() as group:
        group.start_soon(runner.run, tool_call())
        await asked.wait()
        group.cancel_scope.cancel()
    stored = runner.result_of("call_1")
    assert stored is not None
    assert stored.content == STOPPED
    assert scripted.calls == []


async def test_no_id_runs_twice_not_even_at_once() -> None:
    scripted = ScriptedTool()
    runner = runner_for(scripted)
    results: list[ToolResult] = []

    async def call() -> None:
        results.append(await runner.run(tool_call(args={"a": 1})))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(call)
    await call()
    assert len(scripted.calls) == 1
    assert [result.content for result in results] == ["done"] * 6


@pytest.mark.parametrize("second", [("scripted", {"a": 2}), ("other", {"a": 1})])
async def test_another_call_under_a_known_id_is_refused_and_the_first_result_stays(
    second: tuple[str, JsonObject],
) -> None:
    scripted, other = ScriptedTool(), ScriptedTool("other")
    runner = runner_for(scripted, other)
    first = await runner.run(tool_call(args={"a": 1}))
    result = await runner.run(tool_call(*second))
    assert result.is_error
    assert result.content == "Not run: the id call_1 belongs to an earlier call of scripted."
    assert len(scripted.calls) + len(other.calls) == 1
    assert runner.result_of("call_1") == first


def test_a_call_never_seen_has_no_result() -> None:
    assert runner_for().result_of("call_9") is None


async def test_a_huge_answer_keeps_its_ends_and_counts_the_rest() -> None:
    text = "head" + "ä" * 1_000_000 + "tail"
    result = await run(ScriptedTool(work=giving(ToolOutput(text, display=text))))
    assert result.content.startswith("headä")
    assert result.content.endswith("ätail")
    head, note, tail = result.content.split("\n")
    assert len((head + tail).encode()) <= 256 * 1024
    left_out = len(text.encode()) - len((head + tail).encode())
    assert note == f"[... {left_out:,} bytes left out here ...]"
    assert result.display == result.content


async def test_an_answer_just_small_enough_is_kept_whole() -> None:
    text = "x" * 256 * 1024
    assert (await run(ScriptedTool(work=giving(ToolOutput(text))))).content == text


async def test_what_cannot_be_sent_or_stored_is_repaired() -> None:
    result = await run(ScriptedTool(work=giving(ToolOutput("a\0b\ud800c", display="\udfff"))))
    assert result.content == "a\ufffdb\ufffdc"
    assert result.display == "\ufffd"


# Feature: stage-02-core-provider, Property 6: Tool Call Queuing and Execution
@settings(max_examples=100)
@given(
    arguments=st.lists(JSON_OBJECTS, max_size=12),
    repeats=st.integers(min_value=1, max_value=3),
)
async def test_every_call_is_run_exactly_once_and_all_are_under_way_together(
    arguments: list[JsonObject], repeats: int
) -> None:
    all_begun, begun = anyio.Event(), 0

    async def work(args: JsonObject) -> ToolOutput:
        nonlocal begun
        begun += 1
        if begun == len(arguments):
            all_begun.set()
        await all_begun.wait()
        return ToolOutput(repr(args))

    scripted = ScriptedTool(work=work)
    runner = runner_for(scripted)
    calls = [tool_call(args=args, id=f"call_{n}") for n, args in enumerate(arguments)]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for call in calls * repeats:
                group.start_soon(runner.run, call)
    results = [runner.result_of(call.id) for call in calls]
    assert len(scripted.calls) == len(calls)
    assert [r.content for r in results if r] == [repr(args) for args in arguments]


FAULTS = st.sampled_from(
    [
        raising(ValueError("bad")),
        raising(ToolFailure("no")),
        raising(SystemExit(1)),
        raising(RecursionError()),
        raising(ExceptionGroup("many", [OSError("a"), OSError("b")])),
        giving(None),
        wait_for_ever,
    ]
)


# Feature: stage-02-core-provider, Property 32: Tool Execution Error Handling
@settings(max_examples=100)
@given(
    faults=st.lists(FAULTS, min_size=1, max_size=4),
    good=st.integers(min_value=1, max_value=4),
    damaged=st.none() | st.text(),
    unknown=st.text(),
)
async def test_a_failing_call_is_an_error_result_and_disturbs_no_other(
    faults: list[Work], good: int, damaged: str | None, unknown: str
) -> None:
    tools = [ScriptedTool(f"bad_{n}", work, timeout_s=0.001) for n, work in enumerate(faults)]
    runner = runner_for(*tools, *(ScriptedTool(f"good_{n}") for n in range(good)))
    bad = [tool_call(scripted.schema.name, id=scripted.schema.name) for scripted in tools]
    bad.append(ToolCall(id="damaged", name="good_0", args=None, raw_args=damaged or ""))
    bad.append(tool_call(f"?{unknown}", id="unknown"))
    fine = [tool_call(f"good_{n}", id=f"good_{n}") for n in range(good)]
    async with anyio.create_task_group() as group:
        for call in [*bad, *fine]:
            group.start_soon(runner.run, call)
    failed = [runner.result_of(call.id) for call in bad]
    done = [runner.result_of(call.id) for call in fine]
    assert all(result and result.is_error and result.content for result in failed)
    assert all(result and not result.is_error for result in done)
    assert all("Traceback" not in result.content for result in failed if result)


def test_tools_are_kept_in_order_and_found_by_exactly_their_name() -> None:
    first, second = ScriptedTool("first"), ScriptedTool("second")
    registry = ToolRegistry([first, second])
    assert registry.list() == (first, second)
    assert registry.get("first") is first
    assert registry.get("First") is None
    assert registry.named(["second", "nowhere", "first"]) == (first, second)
    assert registry.named([]) == ()


@pytest.mark.parametrize("name", ["same", "Same"])
def test_a_taken_name_is_refused_and_the_earlier_tool_stays(name: str) -> None:
    earlier = ScriptedTool("same")
    registry = ToolRegistry([earlier])
    with pytest.raises(ValueError, match="a tool named"):
        registry.register(ScriptedTool(name))
    assert registry.list() == (earlier,)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a/b", "9a", "a" * 65, "a\n"])
def test_a_name_that_some_backend_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a tool"):
        ToolRegistry([ScriptedTool(name)])


async def test_what_only_reads_is_allowed() -> None:
    approval = await ReadOnly().approve(tool_call(), ScriptedTool())
    assert approval == Approval(allowed=True)


@pytest.mark.parametrize(
    ("effect", "would"),
    [("write", "change files"), ("run", "run programs"), ("network", "use the network")],
)
async def test_anything_else_is_refused_with_what_it_would_do(
    effect: ToolEffect, would: str
) -> None:
    approval = await ReadOnly().approve(tool_call(), ScriptedTool(effect=effect))
    assert not approval.allowed
    assert approval.reason == (
        f"scripted could {would}, and only tools that read are allowed here."
    )
