"""Errors: one class, distinguished by code.

    AIError
      400-599   as HTTP has them: BAD_REQUEST, AUTH_FAILED, ... SERVICE_UNAVAILABLE
      601-620   what only models have: context, memory, features, the engine, a cut stream, an
                answer that does not match its schema, abort
      700+      a provider's own; a caller treats an unknown code as INTERNAL_ERROR

`message` says what happened, `hint` what to do about it: both are sentences for the user.
A front end formats them; foreign exceptions are translated in the layer where they occur.
"""

from enum import IntEnum
from typing import Final

from ollm_tui.protocol.json_types import JsonMapping


class ErrorCode(IntEnum):
    """The numbers of the AI protocol, section "Error Codes"."""

    BAD_REQUEST = 400
    AUTH_FAILED = 401
    PERMISSION_DENIED = 403
    MODEL_NOT_FOUND = 404
    TIMEOUT = 408
    CONFLICT = 409
    RATE_LIMITED = 429
    CONTENT_FILTERED = 451
    INTERNAL_ERROR = 500
    NOT_IMPLEMENTED = 501
    SERVICE_UNAVAILABLE = 503
    MODEL_NOT_LOADED = 601
    CONTEXT_LENGTH_EXCEEDED = 602
    OUT_OF_MEMORY = 603
    UNSUPPORTED_FEATURE = 604
    UNSUPPORTED_MODALITY = 605
    ENGINE_ERROR = 610
    STREAM_INCOMPLETE = 611
    SCHEMA_MISMATCH = 612
    ABORTED = 620


PERMANENT_ERRORS: Final = frozenset(
    {
        ErrorCode.BAD_REQUEST,
        ErrorCode.AUTH_FAILED,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.MODEL_NOT_FOUND,
        ErrorCode.CONTENT_FILTERED,
        ErrorCode.NOT_IMPLEMENTED,
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        ErrorCode.UNSUPPORTED_FEATURE,
        ErrorCode.UNSUPPORTED_MODALITY,
    }
)
"""Errors that recur unless something else changes first."""


class AIError(Exception):
    """Any failure of a request, a model or a tool; `code` tells which."""

    def __init__(  # noqa: PLR0913 -- the vocabulary fixes these fields
        self,
        code: int,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        provider: str | None = None,
        details: JsonMapping | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        """HTTP status of a remote server's answer."""
        self.provider = provider
        self.details: JsonMapping = details or {}
        """Facts for programs, such as `fault`, `reason`, `retry_after_s`, `server_code`, `param`,
    `refused`, `path`, `line`, `prompt_tokens` and `context_tokens`."""
        self.retryable = retryable

    def __str__(self) -> str:
        """Return the message and the hint as one text."""
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __repr__(self) -> str:
        return f"AIError({self.known_code.name}, {self.message!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AIError) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.code, self.message))

    def _key(self) -> tuple[object, ...]:
        return (
            int(self.code),
            self.message,
            self.hint,
            self.status,
            self.provider,
            dict(self.details),
            self.retryable,
        )

    @property
    def known_code(self) -> ErrorCode:
        """The code, with INTERNAL_ERROR for one that this version does not know."""
        try:
            return ErrorCode(self.code)
        except ValueError:
            return ErrorCode.INTERNAL_ERROR
