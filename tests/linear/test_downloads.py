"""Downloads in lines: found, begun, said at few steps, stopped, continued and cancelled."""

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import anyio

from ollm_tui.library.downloads.job import HubFiles, Job, JobError, ProviderPull
from ollm_tui.linear.downloads import Downloads
from tests.linear.stage import HeardChat
from tests.tui.scripted_fetching import (
    LIBRARY,
    MACHINE,
    OLLAMA,
    QWEN,
    QWEN_REPO,
    ScriptedDownloads,
    ScriptedHub,
    ScriptedRegistry,
)

PULL = Job(id="job-1", origin=ProviderPull(provider="local", model="qwen3:8b"), title="qwen3:8b")
RUNNING = replace(PULL, state="running", completed=100_000_000, total=1_000_000_000)


async def awaited(work: Coroutine[Any, Any, object]) -> None:
    await work


async def given(value: Any = None) -> Any:
    return value


def chat_with(queue: ScriptedDownloads, *typed: str | None) -> HeardChat:
    catalog: Any = type("Catalog", (), {"shown_name": str, "shown_address": str})
    return HeardChat(
        *typed,
        downloads=queue,
        catalog=catalog,
        hub=ScriptedHub(),
        model_registry=ScriptedRegistry(),
        has_downloads=lambda: given(bool(queue.jobs())),
        load_fetching=given,
        download_targets=lambda: given((LIBRARY, OLLAMA)),
        machine=lambda: given(MACHINE),
        model_info=lambda _ref: given(),
    )


async def shown(chat: HeardChat, text: str = "") -> Downloads:
    downloads = Downloads(chat)  # type: ignore[arg-type]  # what it uses of a chat
    with anyio.fail_after(10):
        await downloads.show(text)
    return downloads


async def test_a_server_pulls_what_was_named() -> None:
    queue = ScriptedDownloads()
    chat = chat_with(queue, "pull it on", None)
    await shown(chat, "qwen3:8b")
    chat = chat_with(queue, chat.heard[-2].partition(".")[0])
    await shown(chat, "qwen3:8b")
    assert queue.origins == [ProviderPull(provider="local", model="qwen3:8b")]
    assert chat.heard[-1].startswith("Downloading qwen3:8b on local.")
    for work in chat.begun:
        work.close()


async def test_a_file_of_a_repository_is_chosen_and_comes_with_its_licence() -> None:
    queue = ScriptedDownloads()
    chat = chat_with(queue, "choose a file", None)
    await shown(chat, QWEN_REPO.model.repo)
    number = next(one for one in chat.heard if "choose a file" in one).partition(".")[0]
    chat = chat_with(queue, number, "recommended", "Q4_K_M", None)
    await shown(chat, QWEN_REPO.model.repo)
    assert any("recommended" in line and "GB" in line for line in chat.heard)
    best = next(line for line in chat.heard if "recommended" in line).partition(".")[0]
    chat = chat_with(queue, number, best)
    await shown(chat, QWEN_REPO.model.repo)
    [origin] = queue.origins
    assert isinstance(origin, HubFiles)
    assert origin.repo == QWEN_REPO.model.repo
    for work in chat.begun:
        work.close()


async def test_a_model_that_nobody_has_is_a_sentence() -> None:
    chat = chat_with(ScriptedDownloads())
    chat.runtime.download_targets = lambda: given(())
    chat.runtime.model_registry = ScriptedRegistry(entries=(), of_hub=())
    await shown(chat, "no such model")
    assert chat.heard[-1] == "No models match."
    chat = chat_with(ScriptedDownloads())
    await shown(chat, "http://[bad")
    assert chat.heard[-1].startswith("Error: ")


async def test_progress_is_said_at_few_steps_and_the_end_once() -> None:
    queue = ScriptedDownloads(RUNNING)
    chat = chat_with(queue)
    downloads = Downloads(chat)  # type: ignore[arg-type]  # what it uses of a chat
    downloads.watch()
    downloads.watch()
    [work] = chat.begun
    async with anyio.create_task_group() as group:
        with anyio.fail_after(10):
            group.start_soon(awaited, work)
            await anyio.wait_all_tasks_blocked()
            for percent in range(10, 100, 4):
                queue.put(replace(RUNNING, completed=percent * 10_000_000))
                await anyio.wait_all_tasks_blocked()
            done = replace(RUNNING, state="done", completed=1_000_000_000, model="local://qwen3:8b")
            queue.put(done)
    assert [line for line in chat.heard if "percent" in line] == [
        "qwen3:8b on local, 26 percent, 260 MB of 1.0 GB.",
        "qwen3:8b on local, 50 percent, 500 MB of 1.0 GB.",
        "qwen3:8b on local, 78 percent, 780 MB of 1.0 GB.",
    ]
    assert chat.heard[-1] == (
        "Downloaded qwen3:8b on local, 1.0 GB. /model local://qwen3:8b to chat with it."
    )
    assert queue.readers == 0


async def test_only_what_goes_on_is_followed() -> None:
    for job, is_followed in ((PULL, True), (replace(PULL, state="paused"), False)):
        queue = ScriptedDownloads(job)
        chat = chat_with(queue)
        downloads = Downloads(chat)  # type: ignore[arg-type]  # what it uses of a chat
        await downloads.follow_earlier()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(awaited, chat.begun[0])
                await anyio.wait_all_tasks_blocked()
                assert bool(queue.readers) == is_followed
                group.cancel_scope.cancel()


async def test_a_download_is_stopped_continued_and_cancelled_after_a_question() -> None:
    queue = ScriptedDownloads(RUNNING)
    for typed, heard in (
        (("1", "stop it"), "2. Cancel it"),
        (("1", "1"), "Stopped. /pull continues it."),
        (("1", "1"), "It continues."),
        (("1", "2", "no"), "It goes on."),
        (("1", "2", "yes"), "Cancelled."),
    ):
        chat = chat_with(queue, *typed, None)
        await shown(chat)
        assert heard in chat.heard
        for work in chat.begun:
            work.close()
    assert queue.done == [("pause", "job-1"), ("resume", "job-1"), ("cancel", "job-1")]


async def test_why_a_download_failed_is_said_with_what_may_help() -> None:
    error = JobError(message="The disk is full.", hint="Free some.")
    failed = replace(PULL, state="failed", error=error)
    chat = chat_with(ScriptedDownloads(failed), "1", None)
    await shown(chat)
    assert "1. qwen3:8b on local, failed" in chat.heard
    assert (
        "Error: qwen3:8b on local could not be downloaded. The disk is full. Free some."
        in chat.heard
    )


async def test_a_known_model_is_found_by_its_name() -> None:
    chat = chat_with(ScriptedDownloads(), None)
    await shown(chat, QWEN.name)
    assert any(line.startswith(f"1. {QWEN.name}") for line in chat.heard)
