"""The branches of a chat, and what another program has added to it since it was looked at."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from ollm_tui.decode.counted import counted


@dataclass(frozen=True, slots=True)
class Node:
    """A message in the tree of its chat, without what it says."""

    id: str
    parent_id: str | None
    depth: int
    updated_ms: int
    writer: str | None
    """The program that is writing it right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One way through a chat, from the first message to one that nothing follows."""

    leaf_id: str
    length: int
    """How many messages it has."""
    apart: int
    """How many of them are not on the path it was compared with."""
    is_continuation: bool
    """Whether it holds that whole path and goes on from its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """What a chat is at one moment, as far as it is needed to see a change."""

    revision: int
    title: str
    is_renamed: bool
    """Whether the person gave the title."""
    nodes: tuple[Node, ...]
    """All messages, in the order they were begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNews:
    """What another program did to an open chat."""

    messages: int = 0
    """How many messages it added."""
    branch: Branch | None = None
    """The branch with the newest of them; None when there are none."""
    title: str | None = None
    """The new title, if it was renamed."""
    is_deleted: bool = False
    is_saved_anew: bool = False
    """Whether it was deleted, and this program went on with it as a new chat."""


@dataclass(slots=True)
class ChatWatch:
    """What one program knows of a chat it has open."""

    known: set[str] = field(default_factory=set)
    """The messages it has written, read, or told of."""
    revision: int | None = None
    title: str | None = None
    is_renamed: bool = False
    """Whether the person gave the title."""
    is_deleted: bool = False
    is_saved_anew: bool = False
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the chat is renamed or looked at: a look at the old title is news to nobody."""

    @property
    def own_title(self) -> str | None:
        """The title that the person gave; None while it is that of the first question."""
        return self.title if self.is_renamed else None

    def news(
        self, state: ChatState, path: Sequence[str], living: Collection[str]
    ) -> ChatNews | None:
        """Give what is new, once; an answer that a living program still writes waits for its end.

        `path` is what this program shows.
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
    """Give all branches, the one whose end was begun last first, compared with a path."""
    by_id = {node.id: node for node in nodes}
    shown = set(path)
    end = path[-1] if path else None
    return tuple(_branch(leaf, by_id, shown, end) for leaf in reversed(leaves(nodes)))


def others_line(found: Sequence[Branch]) -> str | None:
    """Say that a chat has more branches than the one shown; None when it has not."""
    others = len(found) - 1
    if others < 1:
        return None
    return f"This chat has {counted(others, 'other branch', 'other branches')}."


def leaves(nodes: Sequence[Node]) -> list[Node]:
    """Give the messages that nothing follows, in the order they were begun.

    Messages that follow each other in a circle have no such end; the newest stands for it.
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
    """Give the end of a branch that holds the newest of some messages."""
    by_id = {node.id: node for node in nodes}
    newest = fresh[-1].id
    for leaf in reversed(leaves(nodes)):
        if any(node.id == newest for node in _upwards(leaf, by_id)):
            return leaf.id
    return newest


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
    """Go from a message to the first of its branch, as `statements.PATH` does."""
    while True:
        yield node
        parent = by_id.get(node.parent_id or "")
        if parent is None or parent.depth >= node.depth:
            return
        node = parent
