"""One download by every member of a pool, one after another."""

from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.watched_pull import Give


async def pull_to_all(choice: MemberSelection, name: str, give: Give) -> None:
    """Have every member fetch a model.

    Raises:
        AIError: the first failure, when all were asked: one member that is gone does not keep the
            others from the model.
    """
    failure: AIError | None = None
    for member in choice.roster.order(range(len(choice.members))):
        with choice.roster.attempt(member) as attempt:
            try:
                async with pulling(choice.members[member].adapter, name) as steps:
                    async for progress in steps:
                        await give(progress)
            except AIError as error:
                choice.judge(attempt, error)
                failure = failure or error
            else:
                attempt.answered()
    if failure is not None:
        raise failure
