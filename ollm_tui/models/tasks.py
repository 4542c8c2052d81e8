"""The tasks beside chatting that a model may be for; commands and screens name them alike."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

ModelTask: TypeAlias = Literal[
    "embedding", "speech", "transcription", "picture", "video", "music", "infill"
]
"""What a model is wanted for: a key of `[defaults]`."""
TASK_WORDS: Final[Mapping[ModelTask, str]] = {
    "picture": "drawing",
    "transcription": "dictation",
    "speech": "reading aloud",
    "embedding": "embeddings",
    "video": "videos",
    "music": "music",
}
"""What each task is called on the screen, in the order of menus; `infill` is for commands only."""


def task_list(tasks: Iterable[ModelTask]) -> str:
    """Return tasks in words: `drawing and dictation`."""
    return " and ".join(TASK_WORDS[task] for task in tasks)
