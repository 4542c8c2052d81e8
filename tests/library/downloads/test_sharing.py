"""Restarts, and programs side by side: two queues on one folder are two programs."""

import json
import logging
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.library.downloads.job import LocalFiles, ProviderPull, StarterPackage, UrlFile
from ollm_tui.library.downloads.job_index import KEPT_S
from ollm_tui.library.downloads.job_run import REPORT_INTERVAL_S
from ollm_tui.library.downloads.queue import REFRESH_S, DownloadQueue
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.library.downloads.puppet_work import Puppet, pull
from tests.library.downloads.queue_bench import Bench, bench


async def test_what_ran_or_waited_goes_on_with_the_next_program(tmp_path: Path) -> None:
    async with bench(tmp_path, at_once=1) as first:
        ids = [(await first.queue.add(pull(name))).id for name in "abcd"]
        await first.running("a")
        first.work["a"].tell(300, 1000)
        await first.queue.pause(ids[2])
    async with bench(tmp_path, at_once=1) as then:
        assert then.states() == {"a": "queued", "b": "queued", "c": "paused", "d": "queued"}
        assert {job.note for job in then.queue.jobs()} == {"interrupted", ""}
        assert then.job("a").completed == 300
        await anyio.wait_all_tasks_blocked()
        assert then.work.running == [], "nothing runs before somebody says so"
        await then.queue.take_over()
        await then.running("a")
        then.work["a"].end("local://a")
        await then.running("b")
        then.work["b"].end()
        await then.running("d")
        assert then.states() == {"a": "done", "b": "done", "c": "paused", "d": "running"}
    async with bench(tmp_path) as last:
        await last.queue.take_over()
        assert last.job("a").model == "local://a"
        await last.running("d")
        assert (await last.queue.add(pull("c"))).state == "paused"


async def test_adding_what_was_interrupted_takes_it_up(tmp_path: Path) -> None:
    async with bench(tmp_path) as first:
        job = await first.queue.add(pull("a"))
        await first.queue.add(pull("b"))
    async with bench(tmp_path) as then:
        assert (await then.queue.add(pull("a"))).id == job.id
        await then.running("a")
        assert then.work.running == ["a"]


async def test_a_failure_is_remembered(tmp_path: Path) -> None:
    async with bench(tmp_path) as first:
        await first.queue.add(pull("a"))
        first.work["a"].end(AIError(ErrorCode.TIMEOUT, "It stood still.", hint="Try again."))
        await first.until_state("a", "failed")
    async with bench(tmp_path) as then:
        await then.queue.take_over()
        trouble = then.job("a").error
        assert trouble is not None
        assert (trouble.message, trouble.hint) == ("It stood still.", "Try again.")
        await then.queue.resume(then.job("a").id)
        await then.running("a")


async def test_another_program_looks_on_and_takes_over_when_the_first_has_ended(
    tmp_path: Path,
) -> None:
    first, second = Bench(tmp_path), Bench(tmp_path)
    async with second.queue:
        await second.queue.take_over()
        async with second.queue.changes() as changes:
            async with first.queue:
                job = await first.queue.add(pull("a"))
                await first.running("a")
                await second.clock.move(REFRESH_S)
                seen = await anext(changes)
                while seen.state != "running":
                    await second.clock.move(REFRESH_S)
                    seen = await anext(changes)
                assert (seen.id, seen.is_elsewhere) == (job.id, True)
                for action in (second.queue.pause, second.queue.cancel, second.queue.resume):
                    with pytest.raises(AIError, match="Another running ollm is downloading the a"):
                        await action(job.id)
                assert (await second.queue.add(pull("a"))).is_elsewhere
                assert second.work.running == []
                first.work["a"].tell(500, 1000)
            await second.clock.move(REFRESH_S)
            await second.running("a")
            assert second.job("a").completed == 500
            second.work["a"].end("local://a")
            await second.until_state("a", "done")


async def test_what_another_program_has_done_is_seen(tmp_path: Path) -> None:
    first, second = Bench(tmp_path), Bench(tmp_path)
    async with first.queue, second.queue, second.queue.changes():
        job = await first.queue.add(pull("a"))
        await second.clock.move(REFRESH_S)
        await second.until(lambda: second.states() != {})
        first.work["a"].end("local://a")
        await first.until_state("a", "done")

        async def seen() -> None:
            while second.states() != {"a": "done"}:
                await second.clock.move(REFRESH_S)

        with anyio.fail_after(10):
            await seen()
            assert [one.model for one in second.arrived] == ["local://a"]
            await first.queue.dismiss(job.id)
            while second.queue.jobs():
                await second.clock.move(REFRESH_S)


async def test_what_was_paused_can_go_on_in_either_program(tmp_path: Path) -> None:
    first, second = Bench(tmp_path), Bench(tmp_path)
    async with first.queue:
        job = await first.queue.add(pull("a"))
        await first.running("a")
        await first.queue.pause(job.id)
        async with second.queue:
            await second.queue.resume(job.id)
            await second.running("a")
            with pytest.raises(AIError) as caught:
                await first.queue.resume(job.id)
            assert caught.value.code == ErrorCode.CONFLICT
            second.work["a"].end("local://a")
            await second.until_state("a", "done")
            await second.queue.pause(job.id)
        await first.queue.resume(job.id)
        assert first.states() == {"a": "done"}
        assert first.work["a"].runs == 1


async def test_a_program_that_closes_stops_its_work_and_keeps_how_far_it_was(
    tmp_path: Path,
) -> None:
    here = Bench(tmp_path)
    async with here.queue:
        job = await here.queue.add(pull("a"))
        await here.running("a")
        here.work["a"].tell(123, 1000)
    assert here.work["a"].running == 0
    kept = json.loads((tmp_path / "downloads" / f"{job.id}.json").read_text())
    assert (kept["state"], kept["completed"]) == ("queued", 123)


async def test_what_was_done_long_ago_is_forgotten_and_what_failed_is_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as first:
        for name in "abc":
            await first.queue.add(pull(name))
        first.work["a"].end()
        first.work["b"].end(AIError(ErrorCode.TIMEOUT, "Late."))
        await first.until_state("a", "done")
        await first.until_state("b", "failed")
        await first.queue.cancel(first.job("c").id)
    later = Bench(tmp_path)
    later.clock.now += KEPT_S + 1
    async with later.queue:
        assert later.states() == {"b": "failed"}


async def test_an_address_with_a_secret_works_on_in_its_program_and_is_asked_for_in_the_next(
    tmp_path: Path,
) -> None:
    whole = UrlFile(url="https://h.example/m.gguf?sig=secret")
    asked: list[object] = []
    puppet = Puppet("m")

    def work_for(origin: object) -> Puppet:
        asked.append(origin)
        return puppet

    folder = tmp_path / "downloads"
    async with DownloadQueue(folder, work_for) as queue:
        job = await queue.add(whole)
        await puppet.started.wait()
        await queue.pause(job.id)
        await queue.resume(job.id)
        await puppet.started.wait()
        assert set(asked) == {whole}
    assert all("secret" not in path.read_text() for path in folder.glob("*.json"))
    async with DownloadQueue(folder, work_for) as queue:
        (lost,) = queue.jobs()
        assert lost.state == "failed"
        assert lost.error is not None
        assert "which is not saved" in lost.error.message
        for again in (lambda: queue.resume(job.id), lambda: queue.add(lost.origin)):
            with pytest.raises(AIError, match="which is not saved"):
                await again()
        asked.clear()
        assert (await queue.add(whole)).id == job.id
        await puppet.started.wait()
        assert set(asked) == {whole}


async def test_a_damaged_file_is_no_reason_to_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "downloads"
    async with bench(tmp_path) as first:
        await first.queue.add(pull("a"))
    (folder / "0000000000000-00000000.json").write_text("{")
    with caplog.at_level(logging.WARNING):
        async with bench(tmp_path) as then:
            assert then.states() == {"a": "queued"}
    assert len(caplog.records) == 1


async def test_a_provider_that_is_gone_fails_its_download_and_can_be_cancelled(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as first:
        await first.queue.add(pull("a"))

    def nothing(origin: object) -> Puppet:
        assert isinstance(origin, ProviderPull)
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no provider {origin.provider}.")

    async with DownloadQueue(tmp_path / "downloads", nothing) as queue:
        await queue.take_over()
        (job,) = queue.jobs()
        with anyio.fail_after(10):
            while job.state != "failed":
                await anyio.sleep(0.001)
                (job,) = queue.jobs()
        assert job.error is not None
        assert job.error.message == "There is no provider local."
        await queue.cancel(job.id)
        assert queue.jobs()[0].state == "cancelled"


async def test_a_path_means_the_same_wherever_the_next_program_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    puppet = Puppet("m")
    async with DownloadQueue(tmp_path / "downloads", lambda _origin: puppet) as queue:
        local = await queue.add(LocalFiles(path=Path("m.gguf")))
        starter = await queue.add(StarterPackage(wheel=Path("~/w.whl")))
    assert local.origin == LocalFiles(path=tmp_path / "m.gguf")
    assert starter.origin == StarterPackage(wheel=tmp_path / "home" / "w.whl")


async def test_how_far_a_download_is_can_be_seen_elsewhere_while_it_runs(tmp_path: Path) -> None:
    first, second = Bench(tmp_path), Bench(tmp_path)
    async with first.queue, second.queue, second.queue.changes():
        await first.queue.add(pull("a"))
        await first.running("a")
        first.work["a"].tell(500, 1000)
        with anyio.fail_after(10):
            while not (jobs := second.queue.jobs()) or jobs[0].completed != 500:
                await first.clock.move(REPORT_INTERVAL_S)
                await second.clock.move(REFRESH_S)
        assert (jobs[0].state, jobs[0].is_elsewhere) == ("running", True)


async def test_a_program_that_ends_while_it_reads_the_folder_ends_in_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as first:
        await first.queue.add(pull("a"))

    async def hold(here: Bench) -> None:
        async with here.queue:
            await anyio.sleep_forever()

    for _ in range(3):
        async with anyio.create_task_group() as group:
            group.start_soon(hold, Bench(tmp_path))
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    async with bench(tmp_path) as last:
        assert last.states() == {"a": "queued"}
