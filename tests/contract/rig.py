"""A rig: a provider, and the backend behind it that a test can tell what to do.

To put another provider under the contract, write an async context manager that gives a `Rig` and
add it to `RIGS` in `rigs.py`:

* `offers` names the scenarios the backend can play; tests of the others are skipped. `text` and
  `forever` are not optional.
* `request(scenario)` gives a request that makes the backend play it.
* `expected` may hold what comes of a scenario where it is not what `EXPECTED` says.
* `answering()` tells how many answers the backend is giving, `left()` how often a client left in
  the middle of one (None if the backend cannot tell).

Scenarios: `text`; `thinking` (told apart by the server); `tags` (`<think>` in the text);
`unicode` (cut inside characters); `tool`, `tools` (one call in fragments, two side by side);
`length`; `usage`; `empty` (nothing at all); `html`; `cut` (connection lost after "It was a dark");
`unended` (proper end of the body, no end of the answer); `midway` (a failure after text); `stall`
(silence after text); `silent` (no first byte); `forever`; `status NNN`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from tests.support.scripts import UNICODE


@dataclass(frozen=True)
class Expected:
    """What has to come of a scenario; None where anything is right."""

    text: str | None = ""
    thinking: str | None = ""
    calls: tuple[tuple[str, Mapping[str, object]], ...] = ()
    reason: str | None = "stop"
    code: int | None = None


OSLO = ("weather", {"city": "Oslo"})
EXPECTED: Mapping[str, Expected] = {
    "text": Expected("Hello, world!"),
    "thinking": Expected("Yes.", "Let me see."),
    "tags": Expected("Yes.", "Let me see."),
    "unicode": Expected(UNICODE),
    "tool": Expected("", calls=(OSLO,), reason="tool_calls"),
    "tools": Expected("Looking.", calls=(OSLO, ("clock", {})), reason="tool_calls"),
    "length": Expected("It was a dark and", reason="length"),
    "empty": Expected(reason=None, code=ErrorCode.ENGINE_ERROR),
    "html": Expected(reason=None, code=ErrorCode.SERVICE_UNAVAILABLE),
    "cut": Expected("It was a dark", reason=None, code=ErrorCode.STREAM_INCOMPLETE),
    "unended": Expected("It was a dark", reason=None, code=ErrorCode.STREAM_INCOMPLETE),
    "midway": Expected("It was ", reason=None, code=ErrorCode.INTERNAL_ERROR),
    "stall": Expected("It was ", reason=None, code=ErrorCode.TIMEOUT),
    "silent": Expected(reason=None, code=ErrorCode.TIMEOUT),
    "status 400": Expected(reason=None, code=ErrorCode.BAD_REQUEST),
    "status 401": Expected(reason=None, code=ErrorCode.AUTH_FAILED),
    "status 403": Expected(reason=None, code=ErrorCode.PERMISSION_DENIED),
    "status 404": Expected(reason=None, code=ErrorCode.MODEL_NOT_FOUND),
    "status 408": Expected(reason=None, code=ErrorCode.TIMEOUT),
    "status 429": Expected(reason=None, code=ErrorCode.RATE_LIMITED),
    "status 500": Expected(reason=None, code=ErrorCode.INTERNAL_ERROR),
    "status 503": Expected(reason=None, code=ErrorCode.SERVICE_UNAVAILABLE),
    "status 529": Expected(reason=None, code=ErrorCode.SERVICE_UNAVAILABLE),
}
ALL = frozenset({*EXPECTED, "usage", "forever"})


class Rig(Protocol):
    """One provider kind under the contract."""

    @property
    def provider(self) -> ProviderAdapter: ...

    @property
    def offers(self) -> frozenset[str]: ...

    @property
    def expected(self) -> Mapping[str, Expected]: ...

    def request(
        self, scenario: str, *, signal: AbortSignal | None = None, stream: bool = True
    ) -> Request: ...

    def answering(self) -> int: ...

    def left(self) -> int | None: ...


@dataclass
class PromptRig:
    """A rig whose backend chooses the scenario by the prompt."""

    provider: ProviderAdapter
    make_request: "RequestMaker"
    answering_now: "Counter"
    left_so_far: "Counter"
    offers: frozenset[str] = ALL
    expected: Mapping[str, Expected] = field(default_factory=dict)

    def request(
        self, scenario: str, *, signal: AbortSignal | None = None, stream: bool = True
    ) -> Request:
        return self.make_request(scenario, signal, stream)

    def answering(self) -> int:
        return self.answering_now()

    def left(self) -> int | None:
        return self.left_so_far()


class RequestMaker(Protocol):
    def __call__(self, scenario: str, signal: AbortSignal | None, stream: bool, /) -> Request: ...


class Counter(Protocol):
    def __call__(self) -> int: ...
