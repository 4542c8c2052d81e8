"""The branches of a chat, and what other programs have added to it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from ollm_tui.decode.counted import counted


@dataclass(frozen=True, slots=True)
class Node:
    """A message in the tree of its chat, without its content."""

    id: str
    parent_id: str | None
    depth: int
    updated_ms: int
    writer: str | None
    """The program that is writing it, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One path through a chat, from the first message to a leaf."""

    leaf_id: str
    length: int
    """Number of its messages."""
    apart: int
    """Number of those that are not on the path that it is compared with."""
    is_continuation: bool
    """Whether it contains that whole path and continues it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """A snapshot of a chat, as far as changes are detected by it."""

    revision: int
    title: str
    is_renamed: bool
    """Whether the user gave the title."""
    nodes: tuple[Node, ...]
    """All messages, in the order of their creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNews:
    """Changes of an open chat by other programs."""

    messages: int = 0
    """Number of messages that were added."""
    branch: Branch | None = None
    """The branch with the newest of them, or None if there are none."""
    title: str | None = None
    """The new title, if it was renamed."""
    is_deleted: bool = False
    is_saved_anew: bool = False
    """Whether it was deleted, and this program continued it as a new chat."""


@dataclass(slots=True)
class ChatWatch:
    """The state of an open chat, as this program last read or wrote it."""

    known: set[str] = field(default_factory=set)
    """Ids of the messages that it has written, read, or reported."""
    revision: int | None = None
    title: str | None = None
    is_renamed: bool = False
    """Whether the user gave the title."""
    is_deleted: bool = False
    is_saved_anew: bool = False
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the chat is renamed or checked, so that its own rename is not reported."""

    @property
    def own_title(self) -> str | None:
        """The title that the user gave, or None while it is the first prompt."""
        return self.title if self.is_renamed else None

    def news(
        self, state: ChatState, path: Sequence[str], living: Collection[str]
    ) -> ChatNews | None:
        """Return what is new, once; not while another program still writes an answer.

        `path` is the path that this program shows.
        """
        fresh = [node for node in state.nodes if node.id not in self.known]
        if any(node.writer in living for node in fresh):
            return None
        title = state.title if state.is_renamed and state.title != self.title else None
        self.known.update(node.id for node in fresh)
        self.revision = state.revision
        self.title, self.is_renamed = state.title, state.is_renamed
        if not fresh and title is None:
            return None
        branch = None
        if fresh:
            leaves = {one.leaf_id: one for one in branches(state.nodes, path)}
            branch = leaves[newest_leaf(state.nodes, fresh)]
        return ChatNews(messages=len(fresh), branch=branch, title=title)


def branches(nodes: Sequence[Node], path: Sequence[str]) -> tuple[Branch, ...]:
    """Return all branches, compared with a path, the one with the newest leaf first."""
    by_id = {node.id: node for node in nodes}
    shown = set(path)
    end = path[-1] if path else None
    return tuple(_branch(leaf, by_id, shown, end) for leaf in reversed(leaves(nodes)))


def others_line(listed: Sequence[Branch]) -> str | None:
    """Return a note that a chat has more branches than the one shown, or None if it has not."""
    others = len(listed) - 1
    if others < 1:
        return None
    return f"This chat has {counted(others, 'other branch', 'other branches')}."


def leaves(nodes: Sequence[Node]) -> list[Node]:
    """Return the messages that nothing follows, in the order of their creation.

    Messages that form a cycle, in a damaged file, have no leaf; the newest is taken instead.
    """
    parents = {node.parent_id for node in nodes}
    by_id = {node.id: node for node in nodes}
    ends = [node for node in nodes if node.id not in parents]
    reached: set[str] = set()
    for node in (*ends, *reversed(nodes)):
        if node.id in reached:
            continue
        if node.id in parents:
            ends.append(node)
        for one in _upwards(node, by_id):
            if one.id in reached:
                break
            reached.add(one.id)
    return ends


def newest_leaf(nodes: Sequence[Node], fresh: Sequence[Node]) -> str:
    """Return the leaf of a branch with the newest of some messages."""
    by_id = {node.id: node for node in nodes}
    newest = fresh[-1].id
    for leaf in reversed(leaves(nodes)):
        if any(node.id == newest for node in _upwards(leaf, by_id)):
            return leaf.id
    return newest


def leaf_after(nodes: Sequence[Node], message_id: str, active_id: str | None) -> str | None:
    """Return the leaf of a branch with a message: the active one if it has it, else the newest."""
    by_id = {node.id: node for node in nodes}
    active = [by_id[active_id]] if active_id in by_id else []
    for leaf in (*active, *reversed(leaves(nodes))):
        if any(node.id == message_id for node in _upwards(leaf, by_id)):
            return leaf.id
    return None


def _branch(
    leaf: Node, by_id: Mapping[str, Node], shown: Collection[str], end: str | None
) -> Branch:
    apart, fork = 0, None
    for node in _upwards(leaf, by_id):
        if node.id in shown:
            fork = node.id
            break
        apart += 1
    return Branch(
        leaf_id=leaf.id, length=leaf.depth, apart=apart, is_continuation=fork == end and apart > 0
    )


def _upwards(node: Node, by_id: Mapping[str, Node]) -> Iterator[Node]:
    """Yield the messages from one to the first of its branch, as `statements.PATH` does."""
    while True:
        yield node
        parent = by_id.get(node.parent_id or "")
        if parent is None or parent.depth >= node.depth:
            return
        node = parent
