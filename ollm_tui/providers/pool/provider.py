"""`PoolProvider`: several servers of one kind as one provider."""

import time
from collections.abc import Callable, Sequence
from random import random

from ollm_tui.models.actions import ACTIONS
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.media_ports import LimitsMedia
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, RemembersListError, WritesPrompt
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.answer import answer
from ollm_tui.providers.operations import has_method
from ollm_tui.providers.pool.health import HealthTracker
from ollm_tui.providers.pool.members import Member
from ollm_tui.providers.pool.operations import PoolOperations, on_each_holder
from ollm_tui.providers.pool.selection import MemberSelection
from ollm_tui.providers.pool.stream import pooled_stream

OFFERS = frozenset(
    {
        *(name for name in dir(PoolOperations) if not name.startswith("_")),
        *(known.methods[0] for known in ACTIONS.values()),
    }
)
"""What the members may support, and the pool then offers."""


class PoolProvider:
    """Servers of one kind that stand in for each other.

    A pool has the operations of `PoolOperations` that all of its members support, and no others:
    front ends ask `isinstance(adapter, SupportsPull)`.
    """

    last_error: AIError | None
    """Why the last listing is empty; there only if the members remember it, too."""

    def __init__(self, selection: MemberSelection) -> None:
        self.name = selection.name
        self.label = selection.label
        self._selection = selection
        self._adapters = [member.adapter for member in selection.members]
        self.streaming_format = self._adapters[0].streaming_format
        self._operations = PoolOperations(selection)
        for name in OFFERS:
            if all(has_method(adapter, name) for adapter in self._adapters):
                made = on_each_holder(selection, name)
                setattr(self, name, getattr(self._operations, name, made))
        limits = [one.message_media for one in self._adapters if isinstance(one, LimitsMedia)]
        if limits:
            self.message_media = frozenset.intersection(*map(frozenset, limits))
        first = self._adapters[0]
        if isinstance(first, WritesPrompt):
            self.as_sent = first.as_sent  # the same for all, which are of one kind
        if all(isinstance(adapter, RemembersListError) for adapter in self._adapters):
            self.last_error = None
            vars(self)["list_models"] = self._list_or_remember

    def chat_stream(self, request: Request) -> ProviderStream:
        """Stream from the least busy member that has the model, or from the next one if it is down.

        What follows its first event comes from the same member.
        """
        return pooled_stream(self._selection, request)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Return the whole response, or with `request.stream` the stream."""
        return await answer(self, request)

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return what the members can do; they are of one kind."""
        return self._adapters[0].capabilities()

    async def _list_or_remember(self) -> Sequence[ModelInfo]:
        self.last_error = None
        try:
            return await self._operations.list_models()
        except AIError as error:
            self.last_error = error
            return []


def pool_of(
    name: str,
    label: str,
    members: Sequence[Member],
    *,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random,
) -> PoolProvider:
    """Make a pool of these members."""
    health = HealthTracker(len(members), clock=clock, jitter=jitter)
    return PoolProvider(MemberSelection(name, label, members, health))
