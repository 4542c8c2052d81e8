"""Which member of a pool handles a request, and what a failed request says about its member."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.pool.health import Attempt, HealthTracker
from ollm_tui.providers.pool.members import Member, ModelIndex
from ollm_tui.providers.refusals import TRANSIENT

T = TypeVar("T")
_UNREACHABLE = frozenset(
    {"refused", "connect_timeout", "dns", "closed", "tls", "proxy", "not_http", "first_byte",
     "slow"}
)  # fmt: skip


def is_unreachable(error: AIError) -> bool:
    """Whether a failure before the first byte means that the server is down."""
    return error.status in TRANSIENT or error.details.get("fault") in _UNREACHABLE


def lacks_model(error: AIError) -> bool:
    """Whether the server is up but does not have the model."""
    return error.code == ErrorCode.MODEL_NOT_FOUND


class MemberSelection:
    """The members of one pool, their health, and the models that each of them has."""

    def __init__(
        self, name: str, label: str, members: Sequence[Member], health: HealthTracker
    ) -> None:
        self.name = name
        self.label = label
        self.members = tuple(members)
        self.health = health
        self.models = ModelIndex(len(self.members))

    def candidates(self, model: str) -> Iterator[int]:
        """Yield the members that may have a model, each once, the best one at that moment first."""
        left = set(self.models.holders(model))
        while left:
            best = self.health.order(left)[0]
            left.remove(best)
            yield best

    def record_failure(self, attempt: Attempt, error: AIError, model: str | None = None) -> bool:
        """Record a failure before the first byte; return whether another member may succeed."""
        if is_unreachable(error):
            retry_after = error.details.get("retry_after_s")
            attempt.failed(float(retry_after) if isinstance(retry_after, int | float) else 0.0)
            return True
        attempt.note_answer()
        if model is not None and lacks_model(error):
            self.models.mark_lacking(attempt.member, model)
            return True
        return False

    @contextmanager
    def attempt(
        self, member: int, model: str | None = None, *, takes_turn: bool = True
    ) -> Iterator[ProviderAdapter]:
        """Yield the adapter of a member, and record how the request in the block ends."""
        with self.health.attempt(member, takes_turn=takes_turn) as attempt:
            try:
                yield self.members[member].adapter
            except AIError as error:
                self.record_failure(attempt, error, model)
                raise
            attempt.note_answer()

    async def first_reply(
        self,
        model: str,
        send: Callable[[ProviderAdapter], Awaitable[T]],
        *,
        takes_turn: bool = True,
    ) -> T:
        """Send a request to one candidate after another until one replies.

        `takes_turn` is whether the request counts for the order of later ones.

        Raises:
            AIError: A member that is up refused, or every member is down.
        """
        errors: list[AIError] = []
        for member in self.candidates(model):
            try:
                with self.attempt(member, model, takes_turn=takes_turn) as adapter:
                    return await send(adapter)
            except AIError as error:
                if not (is_unreachable(error) or lacks_model(error)):
                    raise
                errors.append(error)
        raise self.no_reply(errors)

    async def each_holder(
        self, model: str, send: Callable[[ProviderAdapter], Awaitable[object]]
    ) -> None:
        """Send a request to every member that has a model, one after another.

        It is no failure if a member turns out to lack a model that another one has.

        Raises:
            AIError: The first failure, after all members were tried.
        """
        failure: AIError | None = None
        lacking: AIError | None = None
        has_succeeded = False
        for member in self.candidates(model):
            try:
                with self.attempt(member, model) as adapter:
                    await send(adapter)
                has_succeeded = True
            except AIError as error:
                if lacks_model(error):
                    lacking = lacking or error
                else:
                    failure = failure or error
        failure = failure or (None if has_succeeded else lacking)
        if failure is not None:
            raise failure

    def no_reply(self, errors: Sequence[AIError]) -> AIError:
        """Combine the errors of all members that were tried, at least one, into one error."""
        unreachable = [error for error in errors if is_unreachable(error)]
        if not unreachable or len(errors) == 1:
            return errors[-1]
        last = unreachable[-1]
        waits = [error.details.get("retry_after_s") for error in errors]
        shortest = min((w for w in waits if isinstance(w, int | float)), default=None)
        retry = {} if shortest is None or None in waits else {"retry_after_s": shortest}
        others = {k: v for k, v in last.details.items() if k != "retry_after_s"}
        return AIError(
            last.code,
            f"None of the {len(errors)} servers of {self.label} answers. "
            f"The last one: {last.message}",
            hint=f"Start one of them, or check base_urls below [providers.{self.name}].",
            status=last.status,
            provider=self.name,
            details={**others, **retry, "tried": len(errors)},
            retryable=any(error.retryable for error in unreachable),
        )
