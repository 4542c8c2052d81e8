"""What a pool offers beside chatting: whatever all its members do, and nothing else.

A screen asks `isinstance(adapter, SupportsPull)`, so each offer is a class of its own, and a pool
is made of those that fit its members.
"""

import time
from collections.abc import Callable, Sequence
from random import random
from types import new_class

from ollm_tui.protocol import ports
from ollm_tui.providers.pool import operations, questions
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.pool.health import HealthTracker
from ollm_tui.providers.pool.members import Member
from ollm_tui.providers.pool.provider import PoolProvider

OFFERS: tuple[tuple[type, type[PoolProvider]], ...] = (
    (ports.RemembersListError, questions.ListsInSilence),
    (ports.SupportsList, questions.Lists),
    (ports.SupportsRunning, questions.ListsRunning),
    (ports.SupportsWindow, questions.LoadsAsAsked),
    (ports.SupportsTokenCount, questions.Counts),
    (ports.SupportsTextTokenCount, questions.CountsText),
    (ports.SupportsEmbed, questions.Embeds),
    (ports.SupportsShow, questions.Shows),
    (ports.SupportsVersion, questions.Versions),
    (ports.SupportsPull, operations.Pulls),
    (ports.SupportsDelete, operations.Deletes),
    (ports.SupportsCopy, operations.Copies),
    (ports.SupportsLoad, operations.Loads),
    (ports.SupportsLoadFor, operations.LoadsFor),
    (ports.SupportsUnload, operations.Unloads),
    (ports.SupportsInitialize, operations.Initializes),
    (ports.SupportsDispose, operations.Disposes),
)
"""What a member may be able to do, and the part of a pool that does it with all of them."""


def pool_of(
    name: str,
    label: str,
    members: Sequence[Member],
    *,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random,
) -> PoolProvider:
    """Make a pool that offers what all its members do."""
    adapters = [member.adapter for member in members]
    parts = [part for port, part in OFFERS if all(isinstance(a, port) for a in adapters)]
    roster = HealthTracker(len(members), clock=clock, jitter=jitter)
    pool: PoolProvider = new_class("Pool", (*parts, PoolProvider))(
        MemberSelection(name, label, members, roster)
    )
    return pool
