"""The messages that a transcript posts to its screen."""

from typing import Literal, TypeAlias

from textual.message import Message
from textual.selection import Selection

from ollm_tui.dataclass import dataclass


@dataclass(eq=False, repr=False)
class CursorMoved(Message):
    """The cursor went to another message, on or off, or the caret came or went."""

    hints: str | None
    """The set of key hints to show; None when the cursor is off."""


@dataclass(eq=False, repr=False)
class RetryRequested(Message):
    """The user wants a question answered once more."""

    block_id: str
    """The block of the question."""


BranchAct: TypeAlias = Literal["previous", "next", "delete", "undelete", "fork"]


@dataclass(eq=False, repr=False)
class BranchRequested(Message):
    """The user wants another branch at a message, or to delete or copy this one."""

    act: BranchAct
    block_id: str
    """The block of the message."""
    is_by_key: bool = True
    """Whether the cursor is on the message."""


@dataclass(eq=False, repr=False)
class CancelRequested(Message):
    """The user wants a tool that runs to be cancelled alone."""

    block_id: str
    """The block of the call."""


MarkAct: TypeAlias = Literal["toggle", "previous", "next"]


@dataclass(eq=False, repr=False)
class MarkRequested(Message):
    """The user wants to mark a message, or to go to another one that is marked."""

    act: MarkAct
    block_id: str
    """The block under the cursor."""


@dataclass(eq=False, repr=False)
class CopyRequested(Message):
    """The user wants a text on the clipboard."""

    text: str


@dataclass(eq=False, repr=False)
class SelectionCopyRequested(Message):
    """The user wants the selected text on the clipboard."""

    selection: Selection


@dataclass(eq=False, repr=False)
class KeyRefused(Message):
    """A key could do nothing."""

    reason: str


@dataclass(eq=False, repr=False)
class LinkClicked(Message):
    """The user clicked a link."""

    address: str
    """As it is in the text: neither checked nor cleaned."""
