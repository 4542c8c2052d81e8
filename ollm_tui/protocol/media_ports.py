"""The interfaces of adapters that keep jobs, make videos and music, and fill gaps in a text."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from ollm_tui.protocol.ports import ProviderStream, ReportDrawing
from ollm_tui.protocol.request import Request, Response


@runtime_checkable
class LimitsMedia(Protocol):
    """Has a protocol that not every type of content can be sent by."""

    @property
    def message_media(self) -> Collection[str]:
        """The types that messages may have: `image`, `audio`, `video`, `document`."""


@runtime_checkable
class SupportsDrawingJobs(Protocol):
    """Keeps the work on pictures as jobs, which outlive the program that asked for them."""

    async def resume_drawing(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return what `draw` would have, of a job that it reported; the request is the same.

        A job that the server no longer has is BAD_REQUEST.
        """


@runtime_checkable
class SupportsVideo(Protocol):
    """Makes videos."""

    async def make_video(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return a `VideoContent` with data for each video of the input's text.

        A picture of the input is the first frame. `extra_body` may have `size`, as in 832x480,
        `seconds`, `fps`, `num_frames`, and `n`, the number of videos. A request that is stopped is
        stopped on the server too, if the server can.
        """


@runtime_checkable
class SupportsVideoJobs(Protocol):
    """Keeps the work on videos as jobs, which outlive the program that asked for them."""

    async def resume_video(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return what `make_video` would have, of a job that it reported; the request is the same.

        A job that the server no longer has is BAD_REQUEST.
        """


@runtime_checkable
class SupportsMusic(Protocol):
    """Makes music, and other sound that is no speech."""

    def make_music(self, request: Request) -> ProviderStream:
        """Stream the sound that the input's text describes as `MediaDelta`s.

        `extra_body` may have `seconds`.
        """


@runtime_checkable
class SupportsInfill(Protocol):
    """Fills the gap between two texts."""

    def infill(self, request: Request) -> ProviderStream:
        """Stream the text between the input's text and the request's `suffix`."""
