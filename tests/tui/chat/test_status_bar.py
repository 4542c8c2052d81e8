import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from ollm_tui.tui.chat.ports import TurnState
from ollm_tui.tui.chat.status.status_bar import Status, StatusBar, status_line
from ollm_tui.tui.keys.key import KeyHint
from ollm_tui.tui.widgets.chrome import cut, plain, width_of

KEYS = (
    KeyHint("^J", "newline"),
    KeyHint("^L", "model"),
    KeyHint("^P", "palette"),
    KeyHint("F1", "help"),
)
READY = Status(used=3100, limit=32768, keys=KEYS)
STREAMING = Status(
    state="answering",
    tokens_per_s=38.2,
    used=3100,
    limit=32768,
    notes=("queued 2",),
    keys=(KeyHint("Esc", "stop"),),
)


def line(status: Status, width: int) -> str:
    return plain(status_line(status, width)).rstrip()


@pytest.mark.parametrize(
    ("status", "width", "shown"),
    [
        (
            READY,
            80,
            " ● ready   ctx 3.1k/32k ▮▯▯▯▯▯▯▯     ^J newline  ^L model  ^P palette  F1 help",
        ),
        (READY, 60, " ● ready   ctx 3.1k/32k       ^J newline  ^L model  ^P palette"),
        (READY, 40, " ● ready   ctx 3.1k/32k     ^J newline"),
        (READY, 25, " ● ready      ^J newline"),
        (READY, 12, " ● ready"),
        (READY, 7, " ● re…"),
        (
            STREAMING,
            80,
            " ● streaming 38 tok/s   ctx 3.1k/32k ▮▯▯▯▯▯▯▯   queued 2                Esc stop",
        ),
        (STREAMING, 60, " ● streaming 38 tok/s   ctx 3.1k/32k   queued 2     Esc stop"),
        (STREAMING, 40, " ● streaming 38 tok/s          Esc stop"),
    ],
)
def test_the_line_drops_parts_by_their_weight(status: Status, width: int, shown: str) -> None:
    assert " ".join(line(status, width).split()) == " ".join(shown.split())
    assert width_of(status_line(status, width)) <= width


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (Status(), "● ready"),
        (Status(state="loading", elapsed_s=3), "◐ loading model 3 s"),
        (Status(state="waiting"), "◐ waiting"),
        (Status(state="waiting", elapsed_s=65), "◐ waiting 1 min 5 s"),
        (Status(state="thinking", tokens_per_s=4.24), "● thinking 4.2 tok/s"),
        (Status(state="answering", tokens_per_s=float("inf")), "● streaming"),
        (
            Status(state="thinking", tokens_per_s=4.24, silent_s=5),
            "● thinking, nothing for 5 s",
        ),
        (Status(state="stopped"), "■ stopped"),
        (Status(state="error"), "✗ error"),
        (Status(used=3100), "● ready ctx 3.1k/?"),
        (Status(used=3100, limit=4096, is_assumed=True), "● ready ctx 3.1k/~4k ▮▮▮▮▮▮▮▯"),
        (Status(used=0, limit=5000), "● ready ctx 0/5.0k ▯▯▯▯▯▯▯▯"),
        (Status(limit=5000), "● ready ctx ?/5.0k ▯▯▯▯▯▯▯▯"),
        (Status(used=0), "● ready"),
        (Status(used=9000, limit=4096), "● ready ctx 9.0k/4k ▮▮▮▮▮▮▮▮"),
        (Status(notes=("a\x1b[2Jb",)), "● ready a␛[2Jb"),
    ],
)
def test_the_line_says_what_is_known(status: Status, shown: str) -> None:
    assert " ".join(line(status, 80).split()) == shown


@given(
    st.integers(0, 130),
    st.sampled_from(["ready", "waiting", "answering", "error"]),
    st.integers(0, 10**9),
    st.none() | st.integers(0, 10**9),
)
def test_the_line_is_never_wider_than_the_screen(
    width: int, state: TurnState, used: int, limit: int | None
) -> None:
    status = Status(state=state, used=used, limit=limit, keys=KEYS, elapsed_s=used)
    assert width_of(status_line(status, width)) <= max(width, 3)


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_never_takes_more_cells_than_it_may(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width


class BarApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.bar = StatusBar(clock=lambda: self.now)

    def compose(self) -> ComposeResult:
        yield self.bar


async def test_it_ticks_only_while_something_runs() -> None:
    app = BarApp()
    async with app.run_test():
        assert app.bar._ticking is None
        app.bar.show_turn("waiting")
        assert app.bar._ticking is not None
        app.now = 3.2
        app.bar._tick()
        assert "waiting 3 s" in plain(app.bar._line)
        app.bar.show_turn("answering")
        assert app.bar._ticking is not None
        app.bar.show_turn("ready")
        assert app.bar._ticking is None


async def test_an_answer_that_stands_still_says_for_how_long_in_place_of_its_speed() -> None:
    app = BarApp()
    async with app.run_test():
        app.bar.show_turn("answering")
        app.now = 4.0
        app.bar.show_speed(34)
        for app.now, shown in (
            (8.9, "streaming 34 tok/s"),
            (69.5, "streaming, nothing for 1 min 5 s"),
        ):
            app.bar._tick()
            assert shown in plain(app.bar._line)
        app.bar.show_speed(20)
        app.bar._tick()
        assert "streaming 20 tok/s" in plain(app.bar._line)


async def test_it_repaints_only_when_the_line_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        repaints: list[None] = []
        monkeypatch.setattr(app.bar, "refresh", lambda: repaints.append(None))
        app.bar.show_turn("answering")
        assert len(repaints) == 1
        for speed in range(100, 200):
            app.bar.show_speed(speed)
        app.bar.show_turn("answering")
        app.bar._tick()
        app.bar._tick()
        assert len(repaints) == 2
        app.bar.show_context(1000, None)
        assert len(repaints) == 3
        assert "ctx 1.0k/?" in plain(app.bar._line)
        app.bar.show_context(1000, None)
        app.bar.show_keys(())
        assert len(repaints) == 3
