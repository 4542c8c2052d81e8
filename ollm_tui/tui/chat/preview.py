"""A picture that is not finished: how far it is, and what there is of it so far."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ollm_tui.decode.images import read_image_header
from ollm_tui.protocol.chat_events import MediaDelta
from ollm_tui.tui.chat.ports import StatusPort, TranscriptPort

if TYPE_CHECKING:
    from ollm_tui.tui.transcript import NoteKind

Note: TypeAlias = "tuple[str, str, NoteKind, str | None]"
"""The block of a note, its text, its kind and its hint."""


class DrawingPreview:
    """Shows the steps that lead to a picture, each in the place of the one before it."""

    def __init__(
        self, transcript: TranscriptPort, status: StatusPort, next_block: Callable[[], str]
    ) -> None:
        self._transcript = transcript
        self._status = status
        self._next_block = next_block
        self._block: str | None = None
        """The block of what there is so far."""
        self._notes: list[Note] = []
        """The notes below that block."""
        self.is_begun = False
        """Whether the answer has shown a step."""

    def begin(self) -> None:
        """Take note that another answer begins."""
        self._block, self._notes, self.is_begun = None, [], False

    def show(self, event: MediaDelta) -> None:
        """Show a step."""
        if not self.is_begun:
            self.is_begun = True
            self._status.show_turn("drawing" if event.modality == "image" else "making")
        total = event.total_steps
        self._status.show_progress(f"step {event.step} of {total}" if total else "")
        if read_image_header(event.data) is not None:
            self._remove()
            self._block = self._next_block()
            self._transcript.add_picture(self._block, event.data)

    def add_note(self, note: Note) -> None:
        """Show a note, which stays when the next step takes the place of this one."""
        if self._block is not None:
            self._notes.append(note)
        self._transcript.add_note(*note)

    def end(self) -> None:
        """Remove what is not finished: the picture follows, or there is none."""
        self._remove()
        self._status.show_progress("")

    def _remove(self) -> None:
        if self._block is not None:
            self._transcript.remove_from(self._block)
            for note in self._notes:
                self._transcript.add_note(*note)
        self._block, self._notes = None, []


def is_step(event: MediaDelta) -> bool:
    """Whether this leads to a picture or a video, and is not the whole of it."""
    if event.step is None:
        return False
    if event.modality != "image":
        return True  # its last step is not yet the video
    return event.total_steps is None or event.step < event.total_steps
