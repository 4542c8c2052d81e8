"""What a run on the command line says of events that are no text."""

from types import SimpleNamespace
from typing import Any

from ollm_tui.cli.show import ShowText
from ollm_tui.protocol import chat_events


def test_a_sound_or_a_picture_is_spoken_of_once() -> None:
    notes: list[str] = []
    output: Any = SimpleNamespace(note=notes.append)
    shown = ShowText(output)
    for modality in ("image", "image", "audio"):
        shown.event(
            chat_events.MediaDelta(
                modality=modality, data=b"x", step=None, total_steps=None, turn=1, block="b"
            )
        )
    assert notes == [
        "The model sends image, which cannot be shown here.",
        "The model sends audio, which cannot be shown here.",
    ]
