"""The chat as painted rows, and what can be done with them: read, select, search."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.block import Block, NoteKind
    from ollm_tui.tui.transcript.message_cursor import Typed
    from ollm_tui.tui.transcript.messages import (
        BranchRequested,
        CancelRequested,
        CopyRequested,
        CursorMoved,
        KeyRefused,
        LinkClicked,
        MarkRequested,
        RetryRequested,
        SelectionCopyRequested,
    )
    from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript
    from ollm_tui.tui.transcript.reading import Reading, ReadingMode
    from ollm_tui.tui.transcript.rendering import restyled
    from ollm_tui.tui.transcript.search.bar import SearchBar
    from ollm_tui.tui.transcript.search.keys import SearchControl
    from ollm_tui.tui.transcript.selection import Selected, copied_lines
    from ollm_tui.tui.transcript.transcript import TranscriptSelection
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "block": ("Block", "NoteKind"),
            "message_cursor": ("Typed",),
            "messages": (
                "BranchRequested",
                "CancelRequested",
                *("CopyRequested", "CursorMoved", "KeyRefused"),
                *("LinkClicked", "MarkRequested", "RetryRequested", "SelectionCopyRequested"),
            ),
            "navigable_transcript": ("NavigableTranscript",),
            "reading": ("Reading", "ReadingMode"),
            "rendering": ("restyled",),
            "search.bar": ("SearchBar",),
            "search.keys": ("SearchControl",),
            "selection": ("Selected", "copied_lines"),
            "transcript": ("TranscriptSelection",),
        },
    )

__all__ = [
    "Block",
    "BranchRequested",
    "CancelRequested",
    "CopyRequested",
    "CursorMoved",
    "KeyRefused",
    "LinkClicked",
    "MarkRequested",
    "NavigableTranscript",
    "NoteKind",
    "Reading",
    "ReadingMode",
    "RetryRequested",
    "SearchBar",
    "SearchControl",
    "Selected",
    "SelectionCopyRequested",
    "TranscriptSelection",
    "Typed",
    "copied_lines",
    "restyled",
]
