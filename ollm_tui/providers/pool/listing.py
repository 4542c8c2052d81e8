"""The models of all members as one list, without waiting for a member that is slow."""

from collections.abc import Awaitable, Callable, Collection, Sequence

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ProviderAdapter, RemembersListError
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.pool.faults import nobody
from ollm_tui.providers.pool.members import merged
from ollm_tui.providers.single_error import single_error

GRACE_S = 0.5
"""How long the others are awaited once one member has answered."""
Lister = Callable[[ProviderAdapter], Awaitable[Sequence[ModelInfo]]]


class PoolListing:
    """One round of questions to the members of a pool."""

    def __init__(self, choice: MemberSelection, ask: Lister, *, keep: bool) -> None:
        self._choice = choice
        self._ask = ask
        self._keep = keep
        """Whether the answers tell who has which models."""
        self._answers: dict[int, Sequence[ModelInfo]] = {}
        self._errors: list[AIError] = []

    async def run(self) -> list[ModelInfo]:
        """Ask those that may be there, and the others where nobody of them is.

        Raises:
            AIError: when no member answers.
        """
        everyone = range(len(self._choice.members))
        asked = self._choice.roster.worth_asking(everyone)
        await self._round(asked)
        if not self._answers:
            await self._round([m for m in everyone if m not in asked])
        if not self._answers:
            raise nobody(self._choice.name, self._choice.label, self._errors)
        return merged(self._known(member, asked) for member in everyone)

    def _known(self, member: int, asked: Collection[int]) -> Sequence[ModelInfo]:
        """Give a member's models; the last known ones of a slow one that is alive."""
        if member in self._answers:
            return self._answers[member]
        if self._keep and member in asked and self._choice.roster.state(member) == "alive":
            return self._choice.shelves.models(member) or ()
        return ()

    async def _round(self, members: Collection[int]) -> None:
        with single_error():
            async with anyio.create_task_group() as group:
                for member in members:
                    group.start_soon(self._ask_one, member, group.cancel_scope)

    async def _ask_one(self, member: int, scope: anyio.CancelScope) -> None:
        with self._choice.roster.attempt(member, takes_turn=False) as attempt:
            adapter = self._choice.members[member].adapter
            try:
                models = await self._ask(adapter)
                if self._keep and isinstance(adapter, RemembersListError) and adapter.last_error:
                    raise adapter.last_error
            except AIError as error:
                self._choice.judge(attempt, error)
                self._errors.append(error)
                return
            attempt.answered()
        self._answers[member] = models
        if self._keep:
            self._choice.shelves.fill(member, models)
        scope.deadline = min(scope.deadline, anyio.current_time() + GRACE_S)
