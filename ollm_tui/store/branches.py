"""The branches of a chat, and what other programs have added to it."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import anyio

from ollm_tui.dataclass import dataclass, field
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
    shown_ms: int = 0
    """When a branch that ended here was shown last; 0 if that is not known."""


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
    """All messages but deleted ones, in the order of their creation."""
    is_made: bool = False
    """Whether a model made the title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNews:
    """Changes of an open chat by other programs."""

    messages: int = 0
    """Number of messages that were added."""
    branch: Branch | None = None
    """The branch with the newest of them, or None if there are none."""
    title: str | None = None
    """The new title, if it was renamed."""
    deleted_messages: int = 0
    """Number of messages of the branch shown that were deleted."""
    is_deleted: bool = False
    is_saved_anew: bool = False
    """Whether it was deleted, and this program continued it as a new chat."""


@dataclass(frozen=True, slots=True)
class Forks:
    """The forks of a chat at the moment that it was read."""

    revision: int
    siblings: Mapping[int, tuple[str, ...]]
    """The messages that follow the same one, by their position on the path."""


@dataclass(slots=True)
class ChatWatch:
    """The state of an open chat, as this program last read or wrote it."""

    known: set[str] = field(default_factory=set)
    """Ids of the messages that it has written, read, or reported."""
    revision: int | None = None
    forks: Forks | None = None
    """The forks as they were when this program opened the chat."""
    title: str | None = None
    is_renamed: bool = False
    """Whether the user gave the title."""
    missing: frozenset[str] = frozenset()
    """Messages of the path whose deletion was reported."""
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
        missing = frozenset(path) - {node.id for node in state.nodes}
        deleted, self.missing = missing - self.missing, missing
        if not fresh and title is None and not deleted:
            return None
        branch = None
        if fresh:
            leaves = {one.leaf_id: one for one in branches(state.nodes, path)}
            branch = leaves[newest_leaf(state.nodes, fresh)]
        return ChatNews(
            messages=len(fresh), branch=branch, title=title, deleted_messages=len(deleted)
        )


def branches(nodes: Sequence[Node], path: Sequence[str]) -> tuple[Branch, ...]:
    """Return all branches, compared with a path, the one with the newest leaf first."""
    by_id = {node.id: node for node in nodes}
    shown = set(path)
    end = path[-1] if path else None
    joined: dict[str, tuple[int, str | None]] = {}
    return tuple(_branch(leaf, by_id, shown, end, joined) for leaf in reversed(leaves(nodes)))


def siblings(nodes: Sequence[Node], path: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the messages that follow the same one, by the positions of the path that have some."""
    after: dict[str | None, list[str]] = {}
    ids = {node.id for node in nodes}
    parents = [node.parent_id if node.parent_id in ids else None for node in nodes]
    if len(set(parents)) == len(parents):
        return {}
    for node, parent in zip(nodes, parents, strict=True):
        after.setdefault(parent, []).append(node.id)
    forks: dict[int, tuple[str, ...]] = {}
    for position, message_id in enumerate(path):
        beside = after.get(path[position - 1] if position else None, [])
        if len(beside) > 1 and message_id in beside:
            forks[position] = tuple(beside)
    return forks


def subtree(nodes: Sequence[Node], message_id: str) -> list[Node]:
    """Return a message and all that follow it, each behind the one that it follows."""
    after: dict[str, list[Node]] = {}
    for node in nodes:
        after.setdefault(node.parent_id or "", []).append(node)
    reached = [node for node in nodes if node.id == message_id]
    for node in reached:
        reached.extend(one for one in after.get(node.id, ()) if one.depth > node.depth)
    return reached


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
    ends = {node.id for node in leaves(nodes)}
    below = subtree(nodes, fresh[-1].id)
    places = {node.id: place for place, node in enumerate(nodes)}
    reached = [node.id for node in below if node.id in ends]
    return max(reached, key=lambda one: places[one], default=fresh[-1].id)


def leaf_after(nodes: Sequence[Node], message_id: str, active_id: str | None) -> str | None:
    """Return the leaf of a branch with a message.

    That is the active one if it has it, else the one that was shown or written last.
    """
    below = subtree(nodes, message_id)
    if active_id is not None and any(node.id == active_id for node in below):
        return active_id
    newest: dict[str, tuple[int, int, str]] = {}
    places = {node.id: place for place, node in enumerate(nodes)}
    for node in reversed(below):
        own = (max(node.updated_ms, node.shown_ms), places[node.id])
        inner = newest.get(node.id)
        best = (*own, node.id) if inner is None else (*max(inner[:2], own), inner[2])
        above = newest.get(node.parent_id or "")
        newest[node.id] = best
        if above is None or above[:2] < best[:2]:
            newest[node.parent_id or ""] = best
    return newest[message_id][2] if below else None


def _branch(
    leaf: Node,
    by_id: Mapping[str, Node],
    shown: Collection[str],
    end: str | None,
    joined: dict[str, tuple[int, str | None]],
) -> Branch:
    """Return the branch of a leaf; `joined` keeps where messages join the path, for the next."""
    way: list[str] = []
    apart: int = 0
    fork: str | None = None
    for node in _upwards(leaf, by_id):
        if node.id in shown:
            fork = node.id
            break
        if node.id in joined:
            apart, fork = joined[node.id]
            break
        way.append(node.id)
    for message_id in reversed(way):
        apart += 1
        joined[message_id] = apart, fork
    return Branch(
        leaf_id=leaf.id, length=leaf.depth, apart=apart, is_continuation=fork == end and apart > 0
    )


def _upwards(node: Node, by_id: Mapping[str, Node]) -> Iterator[Node]:
    """Yield the messages from one to the first of its branch, as the query for a branch does."""
    while True:
        yield node
        parent = by_id.get(node.parent_id or "")
        if parent is None or parent.depth >= node.depth:
            return
        node = parent
