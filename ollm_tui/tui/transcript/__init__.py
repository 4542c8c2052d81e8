"""The chat as painted rows, and what can be done with them: read, select, search."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.block import NoteKind
    from ollm_tui.tui.transcript.message_cursor import Typed
    from ollm_tui.tui.transcript.messages import (
        CopyRequested,
        CursorMoved,
        KeyRefused,
        LinkClicked,
        RetryRequested,
        SelectionCopyRequested,
    )
    from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript
    from ollm_tui.tui.transcript.painters.links import FoundLink
    from ollm_tui.tui.transcript.painters.markdown import links_in
    from ollm_tui.tui.transcript.painters.plain import plain_rows
    from ollm_tui.tui.transcript.painters.rows import row_cells
    from ollm_tui.tui.transcript.painters.wrap import wrap
    from ollm_tui.tui.transcript.rendering import restyled
    from ollm_tui.tui.transcript.search.bar import SearchBar
    from ollm_tui.tui.transcript.search.keys import SearchControl
    from ollm_tui.tui.transcript.selection import Selected, copied_lines
    from ollm_tui.tui.transcript.tool_text import main_argument, saved_outcome
    from ollm_tui.tui.transcript.transcript import TranscriptSelection
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "block": ("NoteKind",),
            "message_cursor": ("Typed",),
            "messages": (
                *("CopyRequested", "CursorMoved", "KeyRefused"),
                *("LinkClicked", "RetryRequested", "SelectionCopyRequested"),
            ),
            "navigable_transcript": ("NavigableTranscript",),
            "painters.links": ("FoundLink",),
            "painters.markdown": ("links_in",),
            "painters.plain": ("plain_rows",),
            "painters.rows": ("row_cells",),
            "painters.wrap": ("wrap",),
            "rendering": ("restyled",),
            "search.bar": ("SearchBar",),
            "search.keys": ("SearchControl",),
            "selection": ("Selected", "copied_lines"),
            "tool_text": ("main_argument", "saved_outcome"),
            "transcript": ("TranscriptSelection",),
        },
    )

__all__ = [
    "CopyRequested",
    "CursorMoved",
    "FoundLink",
    "KeyRefused",
    "LinkClicked",
    "NavigableTranscript",
    "NoteKind",
    "RetryRequested",
    "SearchBar",
    "SearchControl",
    "Selected",
    "SelectionCopyRequested",
    "TranscriptSelection",
    "Typed",
    "copied_lines",
    "links_in",
    "main_argument",
    "plain_rows",
    "restyled",
    "row_cells",
    "saved_outcome",
    "wrap",
]
