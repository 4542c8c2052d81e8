"""Which failures are a reason to ask another member, and what is said when none is left; pure."""

from collections.abc import Sequence
from http import HTTPStatus

from ollm_tui.protocol.errors import AIError, ErrorCode

_GONE = frozenset(
    {
        *("refused", "connect_timeout", "dns", "closed", "tls", "proxy", "not_http"),
        *("first_byte", "slow"),
    }
)
_GONE_STATUSES = (
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


def is_gone(error: AIError) -> bool:
    """Whether a failure before the first byte says that nobody is there to answer."""
    return error.status in _GONE_STATUSES or error.details.get("fault") in _GONE


def is_lacking(error: AIError) -> bool:
    """Whether a server is there and does not have the model."""
    return error.code == ErrorCode.MODEL_NOT_FOUND


def nobody(name: str, label: str, errors: Sequence[AIError]) -> AIError:
    """Make one error of those of all the members that were asked; at least one."""
    gone = [error for error in errors if is_gone(error)]
    if not gone or len(errors) == 1:
        return errors[-1]
    last = gone[-1]
    waits = [error.details.get("retry_after_s") for error in errors]
    shortest = min((w for w in waits if isinstance(w, int | float)), default=None)
    again = {} if shortest is None or None in waits else {"retry_after_s": shortest}
    others = {k: v for k, v in last.details.items() if k != "retry_after_s"}
    return AIError(
        last.code,
        f"None of the {len(errors)} servers of {label} answers. The last one: {last.message}",
        hint=f"Start one of them, or look at base_urls below [providers.{name}].",
        status=last.status,
        provider=name,
        details={**others, **again, "tried": len(errors)},
        retryable=any(error.retryable for error in gone),
    )
