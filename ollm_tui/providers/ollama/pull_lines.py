"""The lines of `/api/pull` to progress; pure (Ollama API docs, "Pull a model").

A line `{"status": "success"}` is the only good end. A line with `error` is a failure, although the
status of the answer is 200.
"""

import re

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import integer, string
from ollm_tui.decode.lines import BadLine, NDJSONDecoder, NDJSONItem
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.error_body import ErrorBody, read_error_body
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.http_faults import Endpoint, too_long
from ollm_tui.providers.ollama.refusals import explain_bad_name
from ollm_tui.providers.unfinished import unfinished

AGAIN = "Repeat it to resume the download."
_SPELLING = "Check the spelling: the library has no model of this name and tag."
_KNOWN_FAILURES = (
    (
        r"manifest.*(does not exist|not found|unknown)|file does not exist",
        ErrorCode.MODEL_NOT_FOUND,
        _SPELLING,
    ),
    (
        r"newer version of ollama|\b412\b",
        ErrorCode.UNSUPPORTED_FEATURE,
        "Update Ollama on that machine, then repeat it.",
    ),
    (
        r"no space left|disk quota|not enough space",
        ErrorCode.INTERNAL_ERROR,
        "Free disk space on that machine, then repeat it.",
    ),
    (
        r"unauthorized|access denied|\b40[13]\b",
        ErrorCode.AUTH_FAILED,
        "The model may be private: sign in on the machine that runs Ollama.",
    ),
    (
        r"tls: |x509: |server gave HTTP response to HTTPS",
        ErrorCode.SERVICE_UNAVAILABLE,
        "Ollama downloads over https only; for a registry without it, run"
        " `ollama pull --insecure NAME` on that machine.",
    ),
    (
        r"digest mismatch",
        ErrorCode.INTERNAL_ERROR,
        "Repeat it to download that file again from the start.",
    ),
    (
        r"no such host|max retries|dial tcp|i/o timeout|connection (refused|reset)|\bEOF\b",
        ErrorCode.SERVICE_UNAVAILABLE,
        "Check the network of the machine that runs Ollama. " + AGAIN,
    ),
)
_FINAL = frozenset(
    {ErrorCode.MODEL_NOT_FOUND, ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.AUTH_FAILED}
)
"""Failures that the same request meets again."""


class PullLines:
    """Turn the bytes of one `/api/pull` answer into progress, until `success` or a failure."""

    def __init__(self, place: Endpoint) -> None:
        self.succeeded = False
        self.failure: AIError | None = None
        """Why the model did not come whole; what came before it was given."""
        self.life = 0
        """Grows with every whole line: a sign that the server is at work."""
        self._place = place
        self._lines = NDJSONDecoder()
        self._bad: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be expected."""
        return self.succeeded or self.failure is not None

    def feed(self, chunk: bytes) -> list[PullProgress]:
        """Give the progress that this chunk completes."""
        try:
            return self._take(self._lines.feed(chunk))
        except LimitPassed as error:
            self.failure = too_long(self._place, str(error))
            return []

    def finish(self) -> list[PullProgress]:
        """End of the body: give what is left; without `success` it is a failure."""
        try:
            found = self._take(self._lines.finish())
        except LimitPassed as error:
            self.failure = too_long(self._place, str(error))
            return []
        if not self.ended:
            ended = unfinished(self._place, self._bad, is_empty=not self.life)
            self.failure = broken_off(ended, self._place)
        return found

    def _take(self, items: list[NDJSONItem]) -> list[PullProgress]:
        found: list[PullProgress] = []
        for item in items:
            if self.ended:
                break
            if isinstance(item, BadLine):
                if item.over_limit:
                    self.failure = too_long(self._place, item.reason)
                elif self._bad is None and (item.complete or not self.life):
                    self._bad = item.text
                continue
            self.life += 1
            if is_error(item):
                self.failure = explained(stream_error(item, self._place))
            elif status := string(item, "status"):
                found.append(read_progress(status, item))
                self.succeeded = status == "success"
        return found


def read_progress(status: str, line: JsonObject) -> PullProgress:
    """Read one line; sizes below zero are unknown like missing ones."""
    completed, total = integer(line, "completed"), integer(line, "total")
    return PullProgress(
        status=status,
        digest=string(line, "digest"),
        completed=completed if completed is not None and completed >= 0 else None,
        total=total if total is not None and total >= 0 else None,
    )


def explained(error: AIError) -> AIError:
    """Give a failed download its kind and its way out: the server has one status for them all."""
    error.message = _sentence(error.message)
    for words, code, hint in _KNOWN_FAILURES:
        if re.search(words, error.message, re.IGNORECASE):
            error.code, error.hint = code, hint
            error.retryable = error.retryable and code not in _FINAL
            return error
    error.hint = AGAIN
    return error


def _sentence(message: str) -> str:
    """Give what a registry said in place of the JSON in which it said it."""
    head, brace, rest = message.partition("{")
    said = read_error_body((brace + rest).encode()) if brace else ErrorBody()
    return head + " ".join(said.message.split()) if said.is_json and said.message else message


def refused(error: AIError, name: str) -> AIError:
    """Give a refusal of this model, which has a kind of its own, the way out of a download."""
    if error.code == ErrorCode.MODEL_NOT_FOUND:
        error.hint = _SPELLING
    if explain_bad_name(error, name):
        return error
    return explained(error) if error.code == ErrorCode.INTERNAL_ERROR else error


def broken_off(error: AIError, place: Endpoint) -> AIError:
    """Say of a download what the error of a lost connection says of an answer."""
    if error.details.get("fault") != "cut":
        return error
    return place.error(
        ErrorCode.STREAM_INCOMPLETE,
        "The download was cut off before it was complete.",
        AGAIN,
        fault="cut",
    )
