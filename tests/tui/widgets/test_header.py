import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from ollm_tui.tui.widgets.chrome import ChatHeader, header_line, plain, width_of


def line(title: str, model: str, provider: str, width: int) -> str:
    return plain(header_line(title, model, provider, width))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, " ollm   Sky colours                        qwen3:8b · local "),
        (40, " ollm   Sky colours    qwen3:8b · local "),
        (36, " ollm   Sky col…   qwen3:8b · local "),
        (30, " ollm        qwen3:8b · local "),
        (20, " ollm      qwen3:8b "),
        (14, " ollm   qwen… "),
    ],
)
def test_the_title_gives_way_first_and_then_the_provider(width: int, shown: str) -> None:
    assert line("Sky colours", "qwen3:8b", "local", width) == shown


def test_wide_characters_are_cut_by_their_cells() -> None:
    pieces = header_line("日本語" * 20, "m", "p", 40)
    assert width_of(pieces) == 40
    assert "…" in plain(pieces)


def test_foreign_text_shows_its_control_characters() -> None:
    shown = line("a\x1b[2J[red]\nb", "m\u202en", "", 80)
    assert "a␛[2J[red] b" in shown
    assert "m⟦U+202E⟧n" in shown


@given(st.text(), st.text(), st.text(), st.integers(14, 130))
def test_the_line_is_never_wider_than_the_screen(
    title: str, model: str, provider: str, width: int
) -> None:
    assert width_of(header_line(title, model, provider, width)) <= width


def test_a_name_of_marks_without_end_costs_nothing() -> None:
    assert len(line("e" + "\u0301" * 50_000, "m", "p", 80)) < 1000


class HeaderApp(App[None]):
    def compose(self) -> ComposeResult:
        yield ChatHeader("First")


async def test_the_header_shows_what_it_is_given() -> None:
    app = HeaderApp()
    async with app.run_test(size=(60, 10)) as pilot:
        header = app.query_one(ChatHeader)
        assert "no model" in header.render_line(0).text
        header.show_title("Second")
        header.show_model("qwen3:8b", "local")
        await pilot.pause()
        assert header.render_line(0).text.split() == ["ollm", "Second", "qwen3:8b", "·", "local"]
        assert header.render_line(0).cell_length == 60
