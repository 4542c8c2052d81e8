"""A payload that arrives in pieces is no other than one that arrives whole."""

import pytest

from ollm_tui.cli.event_writer import TextWriter
from ollm_tui.cli.output import Output
from ollm_tui.decode.clean import Cleaner, clean
from ollm_tui.protocol.chat_events import Finish, TextDelta
from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.painter import Painter
from ollm_tui.tui.painters.plain import PlainPainter
from ollm_tui.tui.painters.rows import Canvas, Palette
from tests.hostile.payloads import PAYLOADS, Payload
from tests.hostile.test_exits import controls

pytestmark = pytest.mark.slow

CANVAS = Canvas(80, Palette())


def ways(text: str) -> list[list[str]]:
    """Cut at every place once, and everywhere at once."""
    return [[text[:at], text[at:]] for at in range(len(text) + 1)] + [list(text)]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda p: p.name)
def test_cleaning_the_parts_gives_what_cleaning_the_whole_does(payload: Payload) -> None:
    text = f"a{payload.text}b"
    for parts in ways(text):
        cleaner = Cleaner()
        assert "".join([*map(cleaner.feed, parts), cleaner.finish()]) == clean(text)
    assert controls(clean(text).replace("\t", "")) == set()
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda p: p.name)
def test_painted_rows_hold_no_control_however_the_text_was_cut(payload: Payload) -> None:
    whole: dict[str, list[str]] = {}
    for parts in ways(f"a{payload.text}b"):
        for kind, painter in painters().items():
            rows = painted(painter, parts)
            assert controls("".join(rows)) == set()
            assert whole.setdefault(kind, rows) == rows


def painters() -> dict[str, Painter]:
    return {
        "markdown": MarkdownPainter(CANVAS),
        "plain": PlainPainter(CANVAS, lambda palette: palette.text),
    }


def painted(painter: Painter, parts: list[str]) -> list[str]:
    for part in parts:
        painter.append(part)
        painter.work(float("inf"))
    painter.finish()
    painter.work(float("inf"))
    return [painter.rows.row(number).text for number in range(painter.rows.row_count)]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda p: p.name)
def test_standard_output_gets_no_control_however_the_text_was_cut(
    payload: Payload, capsys: pytest.CaptureFixture[str]
) -> None:
    written = set()
    for parts in ways(f"a{payload.text}b"):
        show = TextWriter(Output())
        for part in parts:
            show.event(TextDelta(delta=part, turn=1, block="answer-1"))
        show.event(Finish(reason="stop"))
        written.add(capsys.readouterr().out)
    [text] = written
    assert controls(text) == set()
