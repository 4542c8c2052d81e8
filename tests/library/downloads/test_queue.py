"""The queue: order, deeds, failures, progress; with work whose every step the test decides."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads.job import Job, JobState
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.library.downloads.puppet_work import pull
from tests.library.downloads.queue_bench import Bench, bench


async def test_a_queue_is_what_front_ends_ask_for(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        assert here.queue.jobs() == []
    assert not (tmp_path / "downloads").exists(), "an empty queue leaves nothing"


async def test_two_run_at_once_and_the_rest_in_their_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        for name in "abcde":
            await here.queue.add(pull(name))
        await here.running("a")
        await here.running("b")
        assert list(here.states().values()) == ["running"] * 2 + ["queued"] * 3
        for ending, next_one in (("b", "c"), ("c", "d"), ("a", "e")):
            here.work[ending].end(f"local://{ending}")
            await here.running(next_one)
            assert len(here.work.running) == 2
        assert here.job("b").model == "local://b"
        assert [job.title for job in here.arrived] == ["the b", "the c", "the a"]


async def test_the_same_is_not_fetched_twice(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        first = await here.queue.add(pull("a"))
        assert (await here.queue.add(pull("a"))).id == first.id
        here.work["a"].end()
        await here.until_state("a", "done")
        assert (await here.queue.add(pull("a"))).id != first.id, "that one has ended"


async def test_what_cannot_be_fetched_at_all_is_no_download(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        refusal = here.work["a"].refusal = AIError(ErrorCode.UNSUPPORTED_FEATURE, "It cannot pull.")
        with pytest.raises(AIError) as caught:
            await here.queue.add(pull("a"))
        assert caught.value == refusal
        assert here.queue.jobs() == []


async def test_pause_stops_and_resume_goes_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        job = await here.queue.add(pull("a"))
        await here.running("a")
        here.work["a"].pause_note = "the server may go on"
        here.work["a"].tell(400, 1000)
        await here.queue.pause(job.id)
        paused = here.job("a")
        assert (paused.state, paused.note) == ("paused", "the server may go on")
        assert (paused.completed, paused.total) == (400, 1000)
        assert here.work.running == []
        await here.queue.pause(job.id)
        assert here.job("a") == paused, "once more changes nothing"
        await here.queue.resume(job.id)
        await here.running("a")
        here.work["a"].end("local://a")
        await here.until_state("a", "done")
        assert here.job("a").completed == 1000
        assert here.work["a"].discarded == 0


async def test_what_is_fetched_twice_is_listed_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        first = await here.queue.add(pull("a"))
        await here.running("a")
        here.work["a"].end("local://a")
        await here.until_state("a", "done")
        second = await here.queue.add(pull("a"))
        assert second.id != first.id
        assert [job.id for job in here.queue.jobs()] == [second.id]


async def test_a_pause_is_done_when_what_runs_has_stopped(tmp_path: Path) -> None:
    async with bench(tmp_path) as here, anyio.create_task_group() as group:
        job = await here.queue.add(pull("a"))
        await here.running("a")
        here.work["a"].closing = anyio.Event()
        group.start_soon(here.queue.pause, job.id)
        await here.until(lambda: here.job("a").note == "stopping")
        group.start_soon(here.queue.resume, job.id)
        await anyio.wait_all_tasks_blocked()
        assert (here.job("a").state, here.work["a"].runs) == ("running", 1)
        here.work["a"].closing.set()
        here.work["a"].closing = None
        await here.until(lambda: here.work["a"].runs == 2)


async def test_what_waits_can_be_paused_and_does_not_start(tmp_path: Path) -> None:
    async with bench(tmp_path, at_once=1) as here:
        await here.queue.add(pull("a"))
        waiting = await here.queue.add(pull("b"))
        await here.queue.add(pull("c"))
        await here.queue.pause(waiting.id)
        here.work["a"].end()
        await here.running("c")
        assert here.states() == {"a": "done", "b": "paused", "c": "running"}
        await here.queue.resume(waiting.id)
        here.work["c"].end()
        await here.running("b")


@pytest.mark.parametrize("state", ["queued", "running", "paused", "failed"])
async def test_cancel_removes_what_has_come(tmp_path: Path, state: JobState) -> None:
    async with bench(tmp_path, at_once=1) as here:
        if state == "queued":
            await here.queue.add(pull("first"))
        job = await here.queue.add(pull("a"))
        if state != "queued":
            await here.running("a")
        if state == "paused":
            await here.queue.pause(job.id)
        if state == "failed":
            here.work["a"].end(AIError(ErrorCode.TIMEOUT, "It stood still."))
        await here.until_state("a", state)
        await here.queue.cancel(job.id)
        assert here.states()["a"] == "cancelled"
        assert here.work["a"].discarded == 1
        assert not here.work["a"].running


async def test_what_was_done_before_a_cancel_arrived_is_done(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        job = await here.queue.add(pull("a"))
        here.work["a"].end("local://a")
        await here.until_state("a", "done")
        await here.queue.cancel(job.id)
        await here.queue.pause(job.id)
        await here.queue.resume(job.id)
        assert here.states() == {"a": "done"}
        assert here.work["a"].discarded == 0


async def test_a_failure_is_a_sentence_and_can_be_tried_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        job = await here.queue.add(pull("a"))
        here.work["a"].end(AIError(ErrorCode.TIMEOUT, "It stood still.", hint="Try again."))
        await here.until_state("a", "failed")
        trouble = here.job("a").error
        assert trouble is not None
        assert (trouble.message, trouble.hint) == ("It stood still.", "Try again.")
        assert (await here.queue.add(pull("a"))).id == job.id, "adding it again tries again"
        await here.running("a")
        assert here.job("a").error is None
        here.work["a"].end(OSError(28, "No space left on device"))
        await here.until_state("a", "failed")
        await here.queue.resume(job.id)
        await here.running("a")
        here.work["a"].end("local://a")
        await here.until_state("a", "done")


async def test_a_fault_of_the_program_ends_one_download_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench(tmp_path) as here:
        await here.queue.add(pull("a"))
        await here.queue.add(pull("b"))
        here.work["a"].end(ZeroDivisionError("secret"))
        group = ExceptionGroup("g", [ExceptionGroup("h", [AIError(ErrorCode.TIMEOUT, "Late.")])])
        here.work["b"].end(group)
        await here.until_state("a", "failed")
        await here.until_state("b", "failed")
        trouble = here.job("a").error
        assert trouble is not None
        assert "secret" not in trouble.message
        assert [record.exc_info is not None for record in caplog.records] == [True]
        late = here.job("b").error
        assert late is not None
        assert late.message == "Late."
        await here.queue.add(pull("c"))
        await here.running("c")


async def test_what_has_ended_can_be_taken_off_the_list_and_nothing_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        job = await here.queue.add(pull("a"))
        await here.queue.dismiss(job.id)
        assert here.states() == {"a": "running"}
        here.work["a"].end()
        await here.until_state("a", "done")
        await here.queue.dismiss(job.id)
        await here.queue.dismiss(job.id)
        await here.queue.cancel("no-such-id")
        assert here.queue.jobs() == []
        assert here.work["a"].discarded == 0
        assert list((tmp_path / "downloads").iterdir()) == []


async def test_progress_is_reported_a_few_times_a_second_with_speed_and_rest(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here, here.queue.changes() as changes:
        await here.queue.add(pull("a"))
        await here.running("a")
        await anyio.wait_all_tasks_blocked()
        seen: list[Job] = []

        async def watch() -> None:
            async for job in changes:
                seen.append(job)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await anyio.wait_all_tasks_blocked()
            seen.clear()
            for completed in range(0, 1000, 10):
                here.work["a"].tell(completed, 1000)
            await anyio.wait_all_tasks_blocked()
            assert seen == []
            await here.clock.move(0.25)
            assert [job.completed for job in seen] == [990]
            await here.clock.move(0.25)
            here.work["a"].tell(995, 1000, note="nearly")
            await here.clock.move(0.5)
            last = seen[-1]
            assert (last.completed, last.note) == (995, "nearly")
            assert last.bytes_per_s is not None
            assert last.seconds_left == pytest.approx(5 / last.bytes_per_s)
            assert len(seen) <= 4
            group.cancel_scope.cancel()


async def test_what_was_there_before_does_not_count_as_speed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        job = await here.queue.add(pull("a"))
        await here.running("a")
        await anyio.wait_all_tasks_blocked()
        work = here.work["a"]
        work.tell(0, 1000)
        await here.clock.move(1)
        work.tell(900, 1000, is_jump=True)
        await here.clock.move(1)
        work.tell(910, 1000)
        await here.clock.move(0.25)
        shown = next(one for one in here.queue.jobs() if one.id == job.id)
        assert shown.bytes_per_s == pytest.approx(10, rel=0.3)
        work.tell(910, 1000, "verifying the checksum", is_jump=True)
        work.tell(910, 1000, "verifying the checksum")
        await here.clock.move(0.25)
        shown = next(one for one in here.queue.jobs() if one.id == job.id)
        assert (shown.note, shown.bytes_per_s) == ("verifying the checksum", None)
        work.tell(100, 1000)  # it had to start again
        await here.clock.move(0.25)
        shown = next(one for one in here.queue.jobs() if one.id == job.id)
        assert shown.completed == 100
        assert shown.bytes_per_s is None


async def test_a_slow_reader_gets_the_newest_state_of_each(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        async with here.queue.changes() as changes:
            for name in "ab":
                await here.queue.add(pull(name))
                await here.running(name)
            for number in range(1, 50):
                here.work["a"].tell(number, 100)
                await here.clock.move(0.25)
            here.work["b"].end("local://b")
            await here.until_state("b", "done")
            first, second = await anext(changes), await anext(changes)
            assert (first.title, first.completed) == ("the a", 49)
            assert (second.title, second.state) == ("the b", "done")
        async with here.queue.changes() as later:
            here.work["a"].end()
            job = await anext(later)
            assert job.title == "the a"


async def test_watchers_end_with_the_queue(tmp_path: Path) -> None:
    seen: list[Job] = []
    ended = anyio.Event()
    here = Bench(tmp_path)

    async def watch() -> None:
        async with here.queue.changes() as changes:
            seen.extend([job async for job in changes])
        ended.set()

    async with anyio.create_task_group() as group, here.queue:
        group.start_soon(watch)
        await anyio.wait_all_tasks_blocked()
    assert ended.is_set()
    assert seen == []


async def test_an_unwritable_folder_keeps_nothing_and_still_fetches(tmp_path: Path) -> None:
    (tmp_path / "downloads").write_text("in the way")
    async with bench(tmp_path) as here, here.queue.changes():
        job = await here.queue.add(pull("a"))
        await here.running("a")
        await here.queue.pause(job.id)
        await here.clock.move(5)
        await here.queue.resume(job.id)
        await here.running("a")
        here.work["a"].end("local://a")
        await here.until_state("a", "done")
