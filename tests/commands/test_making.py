"""`/video` and `/music`: what they ask to be made and saved."""

from dataclasses import replace

import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish, wish_of
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall, parse, suggest
from ollm_tui.protocol.blocks import AudioContent, TextContent, VideoContent
from ollm_tui.protocol.message import Message
from tests.commands.recording_host import RecordingHost
from tests.commands.test_pictures import run
from tests.support.video_bytes import mp4

VIDEO = DrawingWish(model="", makes="video")
MUSIC = DrawingWish(model="", makes="audio")
FULL = DrawingWish(
    model="sd://film", makes="video", seed=9, seconds=4, fps=8, frames=33, size="64x48"
)


def made_chat() -> RecordingHost:
    song = replace(MUSIC, model="l://band", seconds=9)
    messages = [
        Message("user", "a cat walks", metadata=FULL.metadata()),
        Message("assistant", [VideoContent(data=mp4(), mime_type="video/mp4")]),
        Message("user", "slow jazz", metadata=song.metadata()),
        Message("assistant", [AudioContent(data=b"RIFF", mime_type="audio/wav")]),
    ]
    return RecordingHost(current=Conversation(messages=messages))


@pytest.mark.parametrize(
    ("typed", "prompt", "wish"),
    [
        ("/video a cat", "a cat", VIDEO),
        (
            "/video a --seconds 4 cat --fps=8 --frames 33 --size 64x48 --seed 9 --model sd://film",
            "a cat",
            FULL,
        ),
        ("/music slow jazz --seconds 9", "slow jazz", replace(MUSIC, seconds=9)),
        ("/music again and again", "again and again", MUSIC),
    ],
)
async def test_a_prompt_is_made_with_what_is_wanted_of_it(
    typed: str, prompt: str, wish: DrawingWish
) -> None:
    host = RecordingHost()
    assert await run(host, typed) == ""
    assert host.drawn == [(prompt, wish)]
    assert wish_of(Message("user", prompt, metadata=wish.metadata())) == wish


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/video", "What is to be made?"),
        ("/video --seconds 4", "What is to be made?"),
        ("/video a cat --seconds 0", "--seconds takes a whole number from 1 to 1800."),
        ("/video a cat --fps many", "--fps takes a whole number from 1 to 240."),
        ("/video a cat --seed x", "--seed takes a whole number."),
        ("/video a cat --size big", "--size takes width and height"),
        ("/video a cat --count 2", "/video has no option --count."),
        ("/music jazz --size 64x48", "/music has no option --size."),
        ("/music jazz --model", "--model takes the name of a model."),
        ("/video again", "None was made in this chat yet."),
    ],
)
async def test_what_makes_no_sense_is_refused(typed: str, words: str) -> None:
    host = RecordingHost()
    assert words in await run(host, typed)
    assert host.drawn == []


async def test_the_last_of_each_kind_is_made_anew_and_saved() -> None:
    host = made_chat()
    for typed in ("/video again", "/music again", "/video save cat.mp4", "/music save"):
        assert await run(host, typed) == ""
    assert [(content, wish.makes, wish.seed) for content, wish in host.drawn] == [
        ((TextContent("a cat walks"),), "video", None),
        ((TextContent("slow jazz"),), "audio", None),
    ]
    assert ("save_video", "cat.mp4") in host.asked
    assert ("save_audio", "") in host.asked
    host.asked.clear()
    for typed in ("/save", "/save cat.png", "/save a b.mp4", "/open"):
        assert await run(host, typed) == ""
    assert host.asked == [
        ("save_audio", ""),
        ("save_picture", "cat.png"),
        ("save_video", "a b.mp4"),
        ("open_media",),
    ]
    assert "No picture was drawn in this chat yet." in await run(host, "/image again")


def test_they_are_offered_where_a_model_can_and_words_complete_what_was_made() -> None:
    video, music = (parse(f"/{name}", COMMANDS) for name in ("video", "music"))
    assert isinstance(video, CommandCall)
    assert isinstance(music, CommandCall)
    assert (video.command.task, music.command.task) == ("video", "music")
    assert suggest("/video a", COMMANDS, RecordingHost()) is None
    words = suggest("/music s", COMMANDS, made_chat())
    assert words is not None
