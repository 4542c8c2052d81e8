"""While an answer comes: the phase, the speed, the first token, the window, the model's memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.frontend.figures import stay_text
from ollm_tui.protocol.chat_events import PromptProgress
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.status import live_line
from ollm_tui.tui.chat.status.status_bar import Status, status_line
from ollm_tui.tui.keys import KeyHint
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Received, Reply, serve
from tests.tui.chat.test_chat_tree import ask
from tests.tui.chat.test_presenter import FakeStatus, FakeTranscript
from tests.tui.screens import RealStage, staged_for_real
from tests.tui.scripted import finish, text

STREAMING = Status(
    state="answering",
    tokens_per_s=38.0,
    used=3174,
    limit=32768,
    facts=("first token 0.31 s", "5.2 GB · stays 5 min"),
    notes=("tools 4",),
    keys=(KeyHint("Esc", "stop"),),
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            120,
            "● streaming 38 tok/s   ctx 3.2k/32k ▮▯▯▯▯▯▯▯   first token 0.31 s   "
            "5.2 GB · stays 5 min   tools 4",
        ),
        (100, "● streaming 38 tok/s   ctx 3.2k/32k ▮▯▯▯▯▯▯▯   5.2 GB · stays 5 min   tools 4"),
        (80, "● streaming 38 tok/s   ctx 3.2k/32k ▮▯▯▯▯▯▯▯   tools 4"),
        (60, "● streaming 38 tok/s   ctx 3.2k/32k   tools 4"),
        (40, "● streaming 38 tok/s"),
    ],
)
def test_parts_go_in_an_order_and_the_state_and_its_key_stay(width: int, shown: str) -> None:
    line = "".join(piece.text for piece in status_line(STREAMING, width))
    assert line.startswith(f" {shown}  ")
    assert line.endswith(" Esc stop ")
    assert len(line) <= width


def test_the_prompt_is_read_with_percent_where_the_engine_tells() -> None:
    status = FakeStatus()
    presenter = TurnPresenter(FakeTranscript(), status)
    presenter.begin("Why?")
    presenter.apply(PromptProgress(phase="reading", turn=1, done=512, total=1250))
    assert (status.states[-1], status.progress[-1]) == ("reading", "40 %")
    presenter.apply(text("Yes."))
    assert (status.states[-1], status.progress[-1]) == ("answering", "")
    assert status.first_token.startswith("first token ")


def test_the_line_after_an_answer_has_the_same_and_can_be_switched_off() -> None:
    transcript = FakeTranscript()
    presenter = TurnPresenter(transcript, FakeStatus())
    presenter.more_stats = lambda: ["window 3.1k of 32k", "5.2 GB", "unloads in 5 min"]
    presenter.begin("Why?")
    presenter.apply(finish())
    line = "412 tokens · 38 tok/s · first token 0.31 s · window 3.1k of 32k · 5.2 GB"
    assert any(f"{line} · unloads in 5 min" in str(call) for call in transcript.calls)
    count = str(transcript.calls).count("tok/s")
    presenter.more_stats = lambda: None
    presenter.begin("And?")
    presenter.apply(finish())
    assert str(transcript.calls).count("tok/s") == count


def test_times_are_as_near_as_matters() -> None:
    shown = [stay_text(one) for one in (0.4, 42, 61, 299, 3500, 3599, 7300)]
    assert shown == ["0 s", "42 s", "1 min", "5 min", "58 min", "1 h", "2 h"]


class Loading(OllamaServer):
    """Has no model in memory until a test says so, and keeps it for five minutes."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = set()
        self.asked = 0

    def running(self, name: str) -> dict[str, object]:
        until = datetime.now(UTC) + timedelta(minutes=5)
        return super().running(name) | {"size": 5_200_000_000, "expires_at": until.isoformat()}

    async def answer(self, request: Received, reply: Reply) -> object:
        self.asked += request.path == "/api/ps"
        return await super().answer(request, reply)


@asynccontextmanager
async def chatting(folder: Path) -> AsyncIterator[tuple[RealStage, Loading]]:
    server = Loading()

    async def handle(request: Received, reply: Reply) -> None:
        await server(request, reply)

    async with serve(handle) as served:
        environ, flags = {"OLLAMA_HOST": served.url}, Flags(model="local://tiny")
        async with staged_for_real(folder, environ, flags, size=(120, 40)) as stage:
            yield stage, server


async def test_a_model_that_is_loaded_meanwhile_is_seen_and_then_not_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_line, "LOOK_EVERY_S", 0.05)
    async with chatting(tmp_path) as (stage, server):
        await stage.send("silent")
        await stage.until("loading model")
        server.loaded = {"tiny:latest"}
        await stage.until("waiting", "5.2 GB · stays 5 min")
        asked = server.asked
        for _turn in range(20):
            await stage.pilot.pause(0.01)
        assert server.asked == asked, "a loaded model stays loaded while it answers"
        await stage.pilot.press("escape")
        await ask(stage, "words 20 200")
        await stage.until("5.2 GB · unloads in 5 min")
        await stage.send("/stats")
        await stage.until("Answers are no longer followed by a line of figures.")
        before = stage.screen_text.count("unloads in")
        await ask(stage, "words 20 200")
        assert stage.screen_text.count("unloads in") == before
        await stage.until("To keep that after a restart, change show_stats in /settings.")
        # what the settings screen changes acts at once, too
        stage.chat.transcript.reading_mode.change(stats=True)
        await ask(stage, "words 20 200")
        await stage.until(test=lambda: stage.screen_text.count("unloads in") > before)
