"""Downloads that a server makes: their steps, how they fail, and what is never shown of them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from ollm_tui.library.downloads.pull_download import PullSum
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import SupportsDispose, SupportsPull
from ollm_tui.providers import create_provider
from tests.support.fake_backends import BROKEN, FakeLMStudio, FakeLocalAI
from tests.support.fakes import REMOTES
from tests.support.http_server import Handler, serve

Job = Sequence[Mapping[str, object]]


@asynccontextmanager
async def pulling(kind: str, fake: Handler, **more: object) -> AsyncIterator[SupportsPull]:
    async with serve(fake) as server:
        provider = create_provider(REMOTES[kind].spec(server.url, label="Server", **more))
        assert isinstance(provider, SupportsPull)
        yield provider
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


def fake_of(kind: str, job: Job) -> Handler:
    return FakeLMStudio(download=tuple(job)) if kind == "lmstudio" else FakeLocalAI(job=tuple(job))


STEPS = {
    ("lmstudio", "new"): [
        ("downloading", None, None),
        ("downloading", 500, 1000),
        ("paused", None, None),
        ("completed", 1000, 1000),
        ("success", None, None),
    ],
    ("localai", "new"): (
        of_localai := [
            ("processing", None, None),
            ("downloading", 1024, 2048),
            ("completed", 2048, 2048),
            ("success", None, None),
        ]
    ),
    ("localai", "localai@new"): of_localai,
}


@pytest.mark.parametrize(("kind", "name"), STEPS)
async def test_a_download_is_followed_to_its_end_and_its_steps_tell_the_whole(
    kind: str, name: str
) -> None:
    async with pulling(kind, REMOTES[kind].make()) as provider:
        steps = [step async for step in provider.pull_model(name)]
    assert [(p.status, p.completed, p.total) for p in steps] == STEPS[kind, name]
    whole = PullSum(lambda: 0.0)
    for step in steps:
        whole.add(step)
    size = steps[-2].total
    assert (whole.completed, whole.total, whole.fraction) == (size, size, 1.0)


@pytest.mark.parametrize(
    ("kind", "job", "statuses", "reason"),
    [
        ("lmstudio", ({"status": "failed", "downloaded_bytes": 7},), ["downloading", "failed"], ""),
        ("localai", BROKEN, ["error: no space left"], ": error: no space left"),
        ("localai", ({"processed": True, "error": "no such file"},), ["waiting"], ": no such file"),
        (
            *("localai", ({"processed": True, "cancelled": True, "message": "x"},)),
            *(["x"], ": it was cancelled"),
        ),
    ],
)
async def test_a_download_that_fails_is_an_error_after_its_steps(
    kind: str, job: Job, statuses: list[str], reason: str
) -> None:
    steps = []
    async with pulling(kind, fake_of(kind, job)) as provider:
        with pytest.raises(AIError, match=f"Server could not download new{reason}") as caught:
            async for step in provider.pull_model("new"):
                steps.append(step.status)
    assert (steps, caught.value.code) == (statuses, ErrorCode.ENGINE_ERROR)


KEY = "sk-a-12345"
LONG = f"could not log in with {KEY}: " + "x" * 100_000
ACROSS_THE_CUT = "x" * 195 + f" {KEY} " + "y" * 100_000
SHOWN = LONG.replace(KEY, "«key»")


@pytest.mark.parametrize(
    ("kind", "job", "first", "message"),
    [
        ("lmstudio", ({"status": ACROSS_THE_CUT}, {"status": "completed"}), "downloading", None),
        (
            *("localai", ({"processed": True, "error": LONG, "message": LONG},), SHOWN[:200]),
            f"Server could not download new: {SHOWN[:500]} ….",
        ),
    ],
)
async def test_a_download_shows_no_key_and_nothing_at_any_length(
    kind: str, job: Job, first: str, message: str | None
) -> None:
    steps, error = [], None
    async with pulling(kind, fake_of(kind, job), api_key=KEY) as provider:
        try:
            async for step in provider.pull_model("new"):
                steps.append(step.status)
        except AIError as raised:
            error = raised.message
    assert error == message
    assert steps[0] == first
    assert (steps[-1] == "success") == (error is None)
    assert not any("sk" in status or len(status) > 200 for status in steps)
