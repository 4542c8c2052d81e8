"""Who of a pool is asked next, and what a failure says of the one who was."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.pool.faults import is_gone, is_lacking, nobody
from ollm_tui.providers.pool.health import Attempt, HealthTracker
from ollm_tui.providers.pool.members import Member, Shelves

T = TypeVar("T")


class MemberSelection:
    """The members of one pool with what is known of their health and their models."""

    def __init__(
        self, name: str, label: str, members: Sequence[Member], roster: HealthTracker
    ) -> None:
        self.name = name
        self.label = label
        self.members = tuple(members)
        self.roster = roster
        self.shelves = Shelves(len(self.members))

    def asked_in_turn(self, model: str) -> Iterator[int]:
        """Give members that may have a model, the best at each moment, each once."""
        left = set(self.shelves.holders(model))
        while left:
            best = self.roster.order(left)[0]
            left.remove(best)
            yield best

    def judge(self, attempt: Attempt, error: AIError, model: str | None = None) -> bool:
        """Take note of a failure before the first byte; whether another member may do better."""
        if is_gone(error):
            wished = error.details.get("retry_after_s")
            attempt.failed(float(wished) if isinstance(wished, int | float) else 0.0)
            return True
        attempt.answered()
        if model is not None and is_lacking(error):
            self.shelves.lacks(attempt.member, model)
            return True
        return False

    async def first_answer(
        self,
        model: str,
        ask: Callable[[ProviderAdapter], Awaitable[T]],
        *,
        takes_turn: bool = True,
    ) -> T:
        """Ask members in turn until one answers; only work such as a prompt's takes a turn.

        Raises:
            AIError: of a member that is there, or that none is.
        """
        errors: list[AIError] = []
        for member in self.asked_in_turn(model):
            with self.roster.attempt(member, takes_turn=takes_turn) as attempt:
                try:
                    reply = await ask(self.members[member].adapter)
                except AIError as error:
                    if not self.judge(attempt, error, model):
                        raise
                    errors.append(error)
                else:
                    attempt.answered()
                    return reply
        raise nobody(self.name, self.label, errors)

    async def each_holder(
        self, model: str, ask: Callable[[ProviderAdapter], Awaitable[object]]
    ) -> None:
        """Ask every member that has a model, one after another.

        A member that turns out to lack it is no failure where another one has it.

        Raises:
            AIError: the first failure, when all were asked.
        """
        failure: AIError | None = None
        lacking: AIError | None = None
        is_done = False
        for member in self.asked_in_turn(model):
            with self.roster.attempt(member) as attempt:
                try:
                    await ask(self.members[member].adapter)
                except AIError as error:
                    self.judge(attempt, error, model)
                    if is_lacking(error):
                        lacking = lacking or error
                    else:
                        failure = failure or error
                else:
                    attempt.answered()
                    is_done = True
        failure = failure or (None if is_done else lacking)
        if failure is not None:
            raise failure
