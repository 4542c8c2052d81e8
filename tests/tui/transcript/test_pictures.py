"""Pictures in the transcript: the text below them stays where it is, whatever comes of them."""

import sys
import threading
from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from ollm_tui.tui.transcript import picture_source
from ollm_tui.tui.transcript.painting import NEAR_ROWS
from ollm_tui.tui.transcript.picture_source import half_block_row
from ollm_tui.tui.transcript.thumbnail import can_decode, make_thumbnail
from ollm_tui.tui.transcript.transcript import Transcript
from tests.decode.drawn import bomb, flat, halves, moving
from tests.support.guarded.fair_clock import wait
from tests.tui.transcript.test_transcript import lines, room, settled


class Darkroom:
    """Lets decoding end when a test says so, and counts it."""

    def __init__(self) -> None:
        self.door = threading.Event()
        self.threads: list[str] = []
        self.most_at_once = 0
        self._inside = 0

    def make(self, *arguments: object) -> object:
        self._inside += 1
        self.most_at_once = max(self.most_at_once, self._inside)
        self.threads.append(threading.current_thread().name)
        assert wait(self.door, 10)
        self._inside -= 1
        return make_thumbnail(*arguments)  # type: ignore[arg-type]  # passed on as they are


@pytest.fixture
def darkroom(monkeypatch: pytest.MonkeyPatch) -> Iterator[Darkroom]:
    room = Darkroom()
    monkeypatch.setattr(picture_source, "make_thumbnail", room.make)
    yield room
    room.door.set()


async def painted(pilot: Pilot[None], transcript: Transcript) -> None:
    """Wait until everything but the decoding is done."""
    for _ in range(1000):
        await pilot.pause()
        if not transcript.painting.busy:
            return
    raise AssertionError("the transcript never settled")


def fill(transcript: Transcript, data: bytes, count: int = 1) -> None:
    for number in range(count):
        transcript.add_user(f"u{number}", f"what is picture {number}?")
        transcript.add_picture(f"p{number}", data)
        transcript.add_answer(f"a{number}")
        transcript.append(f"a{number}", f"answer {number}")
        transcript.finish(f"a{number}")


@pytest.mark.parametrize(
    "data", [halves(size=(40, 16)), flat("jpeg", (40, 16))[:-80] + bytes(80), moving()]
)
async def test_the_text_below_never_moves(data: bytes, darkroom: Darkroom) -> None:
    async with room(height=24) as (pilot, transcript, _):
        fill(transcript, data)
        first = transcript.block_list.block("p0").height
        await painted(pilot, transcript)
        before = lines(transcript)
        assert "   ╭" in before[2]
        darkroom.door.set()
        await settled(pilot, transcript)
        after = lines(transcript)
        assert transcript.block_list.block("p0").height == first > 3
        place = before.index("   answer 0")
        assert after[place:] == before[place:]
        assert after[0] == before[0]
        assert "▀" in after[2] or "cannot be shown" in after[place - 2]


async def test_decoding_happens_in_a_thread_one_at_a_time(darkroom: Darkroom) -> None:
    async with room(height=40) as (pilot, transcript, _):
        fill(transcript, halves(size=(20, 8)), 5)
        await painted(pilot, transcript)
        assert len(darkroom.threads) == 1
        # The loop is free meanwhile: what comes now is painted.
        transcript.add_answer("late")
        transcript.append("late", "still here")
        transcript.finish("late")
        await painted(pilot, transcript)
        assert any("still here" in line for line in lines(transcript))
        darkroom.door.set()
        await settled(pilot, transcript)
        assert len(darkroom.threads) == 5
        assert darkroom.most_at_once == 1
        assert threading.main_thread().name not in darkroom.threads


async def test_a_reader_above_keeps_the_place_and_hears_of_nothing_new(darkroom: Darkroom) -> None:
    async with room(height=10) as (pilot, transcript, _app):
        fill(transcript, halves(size=(40, 16)), 3)
        await painted(pilot, transcript)
        transcript.scroll_to(y=14, animate=False)
        await painted(pilot, transcript)
        before = lines(transcript)
        darkroom.door.set()
        await settled(pilot, transcript)
        assert transcript.scroll_offset.y == 14
        assert [line for line in lines(transcript) if "picture" in line or "answer" in line] == [
            line for line in before if "picture" in line or "answer" in line
        ]
        assert transcript.scroller.pinned
        assert not transcript.scroller.unseen


async def test_at_another_width_the_picture_fits_again() -> None:
    async with room(60, 30) as (pilot, transcript, _):
        fill(transcript, halves(size=(100, 40)))
        await settled(pilot, transcript)
        wide = [line for line in lines(transcript) if "▀" in line]
        await pilot.resize_terminal(34, 30)
        await settled(pilot, transcript)
        narrow = [line for line in lines(transcript) if "▀" in line]
        assert (len(wide), len(wide[0].strip())) == (11, 56)
        assert (len(narrow), len(narrow[0].strip())) == (6, 30)
        await pilot.resize_terminal(60, 30)
        await settled(pilot, transcript)
        assert [line for line in lines(transcript) if "▀" in line] == wide


async def test_resized_while_it_is_decoded_it_is_shown_at_the_new_width(darkroom: Darkroom) -> None:
    async with room(60, 30) as (pilot, transcript, _):
        fill(transcript, halves(size=(100, 40)))
        await painted(pilot, transcript)
        await pilot.resize_terminal(34, 30)
        await painted(pilot, transcript)
        place = lines(transcript).index("   answer 0")
        darkroom.door.set()
        await settled(pilot, transcript)
        assert lines(transcript).index("   answer 0") == place
        assert max(line.count("▀") for line in lines(transcript)) == 30
        assert len(darkroom.threads) == 2


async def test_a_picture_that_slept_comes_back(darkroom: Darkroom) -> None:
    darkroom.door.set()
    async with room(height=20) as (pilot, transcript, _):
        fill(transcript, halves(size=(20, 8)))
        await settled(pilot, transcript)
        before = lines(transcript)[:8]
        transcript.add_answer("long")
        transcript.append("long", "\n\n".join(f"paragraph {n}" for n in range(3 * NEAR_ROWS)))
        transcript.finish("long")
        await settled(pilot, transcript)
        block = transcript.block_list.block("p0")
        assert block.painter is None
        half_block_row.cache_clear()
        transcript.scroll_home(animate=False)
        await settled(pilot, transcript)
        assert block.painter is not None
        assert lines(transcript)[:8] == before
        assert len(darkroom.threads) == 1


async def test_nothing_is_decoded_before_it_is_looked_at(darkroom: Darkroom) -> None:
    darkroom.door.set()
    async with room(height=20) as (pilot, transcript, _):
        fill(transcript, halves(size=(20, 40)), 400)
        await settled(pilot, transcript)
        assert 0 < len(darkroom.threads) < 2 * NEAR_ROWS // 20


async def test_what_is_taken_away_meanwhile_is_let_go(darkroom: Darkroom) -> None:
    async with room(height=20) as (pilot, transcript, _):
        fill(transcript, halves(), 3)
        await painted(pilot, transcript)
        transcript.remove_from("u0")
        fill(transcript, flat(size=(20, 20)))
        darkroom.door.set()
        await settled(pilot, transcript)
        assert max(line.count("▀") for line in lines(transcript)) == 20
        assert len(darkroom.threads) == 2
        transcript.clear()
        await settled(pilot, transcript)
        assert lines(transcript) == [""] * 20


async def test_leaving_does_not_wait_for_a_picture(darkroom: Darkroom) -> None:
    async with room() as (pilot, transcript, app):
        fill(transcript, halves())
        await painted(pilot, transcript)
        assert transcript.busy
        app.exit()
    assert not darkroom.door.is_set()


@pytest.mark.parametrize("data", [bomb(), b"GIF89a", b"not a picture", bomb(0, 0)])
async def test_what_cannot_be_drawn_is_a_line(data: bytes, darkroom: Darkroom) -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_picture("p", data, "image/png")
        transcript.add_picture("l", None, None, "https://example.org/[bold]a.png")
        await settled(pilot, transcript)
        first, gap, link, *_rest = lines(transcript)
        assert first.endswith(" shown")
        assert (gap, link) == ("", "   https://example.org/[bold]a.png")
        assert darkroom.threads == []


async def test_where_colours_are_the_terminals_own_there_is_a_line(darkroom: Darkroom) -> None:
    darkroom.door.set()
    async with room(height=20) as (pilot, transcript, app):
        fill(transcript, halves(size=(20, 8)))
        await settled(pilot, transcript)
        assert lines(transcript).index("   answer 0") == 8
        app.theme = "ansi-dark"
        await pilot.pause()
        await settled(pilot, transcript)
        assert [line[:19] for line in lines(transcript)[:5]] == [
            " ▌ what is picture ",
            "",
            "   png · 20 x 8 · 8",
            "",
            "   answer 0",
        ]
        app.theme = "textual-dark"
        await pilot.pause()
        await settled(pilot, transcript)
        assert lines(transcript)[2] == "   " + "▀" * 20


async def test_without_colours_there_is_a_line(
    darkroom: Darkroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with room() as (pilot, transcript, _):
        fill(transcript, halves(size=(20, 8)))
        await settled(pilot, transcript)
        assert lines(transcript)[4] == "   answer 0"
        assert darkroom.threads == []


@pytest.fixture
def undecodable(monkeypatch: pytest.MonkeyPatch) -> Iterator[bytes]:
    """A good picture, and no Pillow to decode it."""
    data = halves(size=(20, 8))
    monkeypatch.setitem(sys.modules, "PIL", None)
    can_decode.cache_clear()
    yield data
    can_decode.cache_clear()


async def test_without_pillow_there_is_a_line(undecodable: bytes) -> None:
    async with room() as (pilot, transcript, _):
        fill(transcript, undecodable)
        await settled(pilot, transcript)
        assert lines(transcript)[2] == f"   png · 20 x 8 · {len(undecodable)} B"
        assert lines(transcript)[4] == "   answer 0"


async def test_a_pillow_that_cannot_be_loaded_leaves_the_space(
    undecodable: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_source, "can_decode", lambda: True)
    async with room(height=20) as (pilot, transcript, _):
        fill(transcript, undecodable)
        await settled(pilot, transcript)
        assert lines(transcript)[2].startswith("   ╭")
        assert lines(transcript)[6] == "   png · 20 x 8 · cannot be shown"
        assert lines(transcript)[8] == "   answer 0"


async def test_the_words_are_selected_and_copied_not_the_picture() -> None:
    async with room(height=20) as (pilot, transcript, app):
        fill(transcript, halves(size=(20, 8)))
        await settled(pilot, transcript)
        app.screen.text_select_all()
        copied = app.screen.get_selected_text() or ""
        assert copied.split("\n") == [
            "what is picture 0?",
            "",
            transcript.block_list.block("p0").source.text,
            "",
            "answer 0",
        ]
