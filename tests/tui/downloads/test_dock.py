"""The list of downloads: what each row says, which keys mean what, and that rest costs nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from ollm_tui.frontend.download_news import title_of
from ollm_tui.library.downloads.job import Job, JobError, JobState, ProviderPull, UrlFile
from ollm_tui.tui.downloads.dock import DownloadAction, DownloadsDock, meaning
from ollm_tui.tui.downloads.dock_rows import job_lines, progress_word
from ollm_tui.tui.widgets.chrome import plain, width_of

URL = UrlFile(url="https://files.example.com/a.gguf")
RUNNING = Job(
    id="1",
    origin=URL,
    title="Qwen3-8B-Q4_K_M",
    state="running",
    completed=2_100_000_000,
    total=5_030_000_000,
    bytes_per_s=38_400_000.0,
    seconds_left=76.0,
)
PULL = Job(id="2", origin=ProviderPull(provider="local", model="qwen3:8b"), title="qwen3:8b")
FAILED = Job(
    id="3",
    origin=URL,
    title="Llama",
    state="failed",
    completed=1_000_000,
    total=2_000_000_000,
    error=JobError(message="The hub broke off.", hint="Press r to go on."),
)
DONE = Job(
    id="4",
    origin=URL,
    title="SmolLM2",
    state="done",
    completed=98_000_000,
    total=98_000_000,
    model="embedded://SmolLM2",
)


def shown_name(provider: str) -> str:
    return {"local": "ollama"}.get(provider, provider)


def words(job: Job, width: int = 120) -> list[str]:
    return [" ".join(plain(line).split()) for line in job_lines(job, width, shown_name)]


@pytest.mark.parametrize(
    ("job", "width", "shown"),
    [
        (
            RUNNING,
            120,
            ["↓ Qwen3-8B-Q4_K_M ▮▮▮▮▮▮▮▮▯▯▯▯▯▯▯▯▯▯▯▯ 2.1 of 5.0 GB 38 MB/s 1 min 16 s left"],
        ),
        (RUNNING, 80, ["↓ Qwen3-8B-Q4_K_M ▮▮▮▮▯▯▯▯▯▯ 2.1 of 5.0 GB 38 MB/s 1 min 16 s"]),
        (RUNNING, 50, ["↓ Qwen3-8B-Q4_K_M 2.1 of 5.0 GB 1 min 16 s"]),
        (RUNNING, 40, ["↓ Qwen3-8B-Q4_… 2.1 of 5.0 GB"]),
        (
            replace(RUNNING, bytes_per_s=None, seconds_left=None, note="busy, trying again in 9 s"),
            80,
            ["↓ Qwen3-8B-Q4_K_M ▮▮▮▮▯▯▯▯▯▯ 2.1 of 5.0 GB busy, trying again in…"],
        ),
        (
            replace(RUNNING, note="file 3 of 4"),
            80,
            ["↓ Qwen3-8B-Q4_K_M ▮▮▮▮▯▯▯▯▯▯ 2.1 of 5.0 GB 38 MB/s 1 min 16 s"],
        ),
        (PULL, 80, ["· qwen3:8b on ollama ▯▯▯▯▯▯▯▯▯▯ queued"]),
        (
            FAILED,
            80,
            [
                "✗ Llama ▯▯▯▯▯▯▯▯▯▯ 1 MB of 2.0 GB failed",
                "The hub broke off. Press r to go on.",
            ],
        ),
        (DONE, 80, ["✓ SmolLM2 ▮▮▮▮▮▮▮▮▮▮ 98 of 98 MB done"]),
        (
            replace(RUNNING, state="paused", note="resumed at 41 %", is_elsewhere=True),
            130,
            [
                "‖ Qwen3-8B-Q4_K_M ▮▮▮▮▮▮▮▮▯▯▯▯▯▯▯▯▯▯▯▯ 2.1 of 5.0 GB paused in another window "
                "resumed at 41 %"
            ],
        ),
        (
            replace(RUNNING, total=None, bytes_per_s=float("nan"), seconds_left=float("inf")),
            80,
            ["↓ Qwen3-8B-Q4_K_M ▯▯▯▯▯▯▯▯▯▯ 2.1 GB"],
        ),
        (replace(RUNNING, note="verifying\nthe checksum"), 130, None),
    ],
)
def test_a_row_says_what_is_known(job: Job, width: int, shown: list[str] | None) -> None:
    if shown is None:
        assert words(job, width)[0].endswith("verifying the checksum")
    else:
        assert words(job, width) == shown


def test_trouble_that_is_long_is_cut_after_two_lines() -> None:
    long = replace(FAILED, error=JobError(message="word " * 90, hint="hint"))
    lines = words(long, 60)
    assert len(lines) == 3
    assert lines[2].endswith("…")


TEXTS = st.text(max_size=60) | st.sampled_from(
    ["\x1b[2J", "[/red]", "\u202e", "\ud800", "漢字" * 30]
)
JOBS = st.builds(
    Job,
    id=st.just("x"),
    origin=st.sampled_from([URL, ProviderPull(provider="local\x1b", model="m")]),
    title=TEXTS,
    state=st.sampled_from(["queued", "running", "paused", "done", "failed", "cancelled"]),
    note=TEXTS,
    completed=st.integers(0, 10**13),
    total=st.none() | st.integers(0, 10**13),
    bytes_per_s=st.none() | st.floats(),
    seconds_left=st.none() | st.floats(),
    error=st.none() | st.builds(JobError, message=TEXTS, hint=st.none() | TEXTS),
    is_elsewhere=st.booleans(),
)


@given(JOBS, st.integers(1, 200))
def test_no_line_is_wider_than_the_screen_or_carries_control_characters(
    job: Job, width: int
) -> None:
    for line in job_lines(job, width, shown_name):
        assert width_of(line) <= max(width, 12)
        assert not any(ord(character) < 32 for character in plain(line))


@pytest.mark.parametrize(
    ("jobs", "word"),
    [
        ((), ""),
        ((PULL, DONE, FAILED), ""),
        ((RUNNING,), "↓ 41 %"),
        ((RUNNING, replace(RUNNING, id="5", completed=0, total=5_000_000_000)), "↓ 2 · 20 %"),
        ((replace(RUNNING, total=None),), "↓ 2.1 GB"),
        ((replace(RUNNING, is_elsewhere=True),), ""),
        ((replace(RUNNING, completed=6_000_000_000),), "↓ 100 %"),
    ],
)
def test_the_word_for_the_status_line(jobs: tuple[Job, ...], word: str) -> None:
    assert progress_word(jobs) == word


def test_who_fetches_is_named_once() -> None:
    assert title_of(PULL, shown_name) == "qwen3:8b on ollama"
    named = replace(PULL, title="ollama: qwen3:8b")
    assert title_of(named, shown_name) == "ollama: qwen3:8b"


@pytest.mark.parametrize(
    ("wanted", "state", "meant"),
    [
        ("pause", "running", "pause"),
        ("pause", "queued", "pause"),
        ("pause", "paused", "resume"),
        ("pause", "failed", "resume"),
        ("pause", "done", None),
        ("retry", "failed", "resume"),
        ("retry", "cancelled", "retry"),
        ("retry", "running", None),
        ("cancel", "paused", "cancel"),
        ("cancel", "done", None),
        ("dismiss", "running", None),
        ("dismiss", "cancelled", "dismiss"),
        ("chat", "done", "chat"),
        ("chat", "running", None),
    ],
)
def test_a_key_means_what_makes_sense(
    wanted: DownloadAction, state: JobState, meant: DownloadAction | None
) -> None:
    job = replace(DONE, state=state)
    assert meaning(wanted, job) == meant
    if wanted not in {"dismiss"}:
        assert meaning(wanted, replace(job, is_elsewhere=True)) is None


def test_a_model_that_cannot_be_chatted_with_is_not() -> None:
    assert meaning("chat", replace(DONE, model=None)) is None


class DockApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.dock = DownloadsDock(shown_name)
        self.wanted: list[tuple[str, str]] = []
        self.left = 0

    def compose(self) -> ComposeResult:
        yield self.dock

    def on_downloads_dock_wanted(self, event: DownloadsDock.Wanted) -> None:
        self.wanted.append((event.action, event.job.id))

    def on_downloads_dock_left(self) -> None:
        self.left += 1


def shown(pilot: Pilot[None]) -> str:
    lines = pilot.app.screen._compositor.render_strips()
    return "\n".join(line.text.rstrip() for line in lines).rstrip()


async def test_it_takes_no_room_while_there_is_nothing() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.dock.size.height == 0
        app.dock.show((RUNNING,))
        await pilot.pause()
        assert app.dock.size.height == 2
        app.dock.show(())
        await pilot.pause()
        assert app.dock.size.height == 0


async def test_what_has_not_changed_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.dock.show((RUNNING, DONE))
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(app.dock, "refresh", lambda **what: drawn.append(what))
        app.dock.show((replace(RUNNING), DONE))
        app.dock.show((replace(RUNNING, completed=2_100_000_999), DONE))
        assert drawn == []
        app.dock.show((replace(RUNNING, completed=2_900_000_000), DONE))
        assert drawn == [{"layout": False}]


async def test_many_are_scrolled_and_the_marked_one_stays_in_view() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        jobs = tuple(replace(RUNNING, id=str(n), title=f"model {n}") for n in range(20))
        app.dock.show(jobs)
        app.dock.focus()
        await pilot.pause()
        assert app.dock.size.height == 8
        assert "13 more lines" in shown(pilot)
        await pilot.press(*["down"] * 12)
        assert "model 12" in shown(pilot)
        assert "model 0 " not in shown(pilot)
        assert app.dock.marked is not None
        assert app.dock.marked.id == "12"
        app.dock.show(jobs[:5])
        assert app.dock.marked.id == "4"


async def test_what_was_just_begun_is_seen_below_many_others() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        done = [replace(DONE, id=f"d{n}", title=f"done {n}", changed_at=n) for n in range(9)]
        app.dock.show(done)
        await pilot.pause()
        assert "done 8" in shown(pilot).splitlines()[1]
        stopped = [replace(FAILED, id=f"f{n}", title=f"stopped {n}") for n in range(5)]
        app.dock.show([*done, *stopped, replace(RUNNING, title="just begun")])
        await pilot.pause()
        assert "just begun" in shown(pilot)
        app.dock.show([*done, *stopped])
        await pilot.pause()
        assert "stopped 4" in shown(pilot)


async def test_one_that_comes_does_not_move_the_mark_during_keys() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.dock.show([RUNNING, DONE])
        app.dock.focus()
        await pilot.pause()
        app.dock.show([replace(RUNNING, state="done"), DONE, replace(RUNNING, id="new")])
        assert app.dock.marked is not None
        assert app.dock.marked.id == RUNNING.id


async def test_keys_ask_for_what_makes_sense_of_the_marked_one() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.dock.show((RUNNING, FAILED, DONE))
        app.dock.focus()
        await pilot.press("p", "x", "r", "d", "enter", "down", "p", "r", "d", "down", "enter", "d")
        await pilot.press("escape")
        assert app.wanted == [
            ("pause", "1"),
            ("cancel", "1"),
            ("resume", "3"),
            ("resume", "3"),
            ("dismiss", "3"),
            ("chat", "4"),
            ("dismiss", "4"),
        ]
        assert app.left == 1


async def test_when_the_last_one_goes_the_keys_go_back() -> None:
    app = DockApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.dock.show((DONE,))
        app.dock.focus()
        await pilot.pause()
        app.dock.show(())
        await pilot.pause()
        assert app.left == 1
