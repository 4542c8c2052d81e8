"""What is made of a prompt: by the operation of its kind, or from a job that is still there."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from ollm_tui.chat.making import check_maker, made, newest_made
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from tests.support.picture_bytes import png
from tests.support.providers import ScriptedProvider
from tests.support.video_bytes import mp4

FILM = Request(model="film", input="a cat", output="video", stream=False)
NEW, KEPT = VideoContent(data=mp4(1)), VideoContent(data=mp4(2))


@dataclass
class Filmer(ScriptedProvider):
    resumed: list[str] = field(default_factory=list)
    code: ErrorCode = ErrorCode.BAD_REQUEST

    async def make_video(self, _request: Request, _report: ReportDrawing | None = None) -> Response:
        return Response(content=(NEW,))

    async def resume_video(
        self, job: str, _request: Request, _report: ReportDrawing | None = None
    ) -> Response:
        self.resumed.append(job)
        if job != "kept":
            raise AIError(self.code, "It no longer has this job.")
        return Response(content=(KEPT,))


async def report(_progress: DrawingProgress) -> None:
    pass


async def test_a_job_is_picked_up_and_one_that_is_lost_is_made_anew() -> None:
    filmer = Filmer()
    results = [await made(filmer, "video", FILM, report, job) for job in (None, "kept", "lost")]
    assert [result.content for result in results] == [(NEW,), (KEPT,), (NEW,)]
    assert filmer.resumed == ["kept", "lost"]


async def test_a_server_that_is_down_is_no_reason_to_make_it_anew() -> None:
    filmer = Filmer(code=ErrorCode.SERVICE_UNAVAILABLE)
    with pytest.raises(AIError, match="no longer has"):
        await made(filmer, "video", FILM, report, "lost")


@pytest.mark.parametrize(("makes", "words"), [("image", "pictures"), ("audio", "music")])
def test_a_provider_without_the_operation_is_refused(makes: Any, words: str) -> None:
    check_maker(Filmer(), "video")
    with pytest.raises(AIError, match=f"offers no {words}"):
        check_maker(Filmer(), makes)


def test_the_newest_of_a_kind_has_its_data() -> None:
    picture = ImageContent(data=png())
    blocks: list[Block] = [KEPT, NEW, picture, VideoContent(url="http://x/a.mp4"), TextContent("a")]
    assert newest_made(blocks, "video") == NEW
    assert newest_made(blocks, "image") == picture
    assert newest_made(blocks, "audio") is None
