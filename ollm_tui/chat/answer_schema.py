"""`AnswerSchema`: the JSON Schema of an answer, what the model is told of it, and the check."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from ollm_tui.attachments.paths import MAX_PATH_LENGTH, as_path
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.json_guard import BadJson, dump_json, parse_json, unfenced
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import FinishReason
from ollm_tui.protocol.request import Request

if TYPE_CHECKING:
    from ollm_tui.tools.json_schema import SchemaChecker

T = TypeVar("T")
_MAX_FILE_BYTES: Final = 1_000_000
_MAX_REPORTED_LENGTH: Final = 20_000
"""Characters of a schema that the model is told in words; the server gets all of it."""
_SLICED_CHARS: Final = 256_000
_CORRECT: Final = "Correct the schema, or leave it out."
_REFUSING: Final = frozenset({400, 422, 500, 501})
_ABOUT_SCHEMAS: Final = lazy_re(
    r"response_format|output_config|output_format|json.?schema|\bschema\b|\bgrammar\b"
    r"|structured|guided",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer matches its schema."""

    value: JsonValue = None
    faults: tuple[str, ...] = ()
    """Sentences about what does not match; empty if the answer matches."""

    @property
    def is_valid(self) -> bool:
        """Whether the answer matches."""
        return not self.faults


class AnswerSchema:
    """The schema of one prompt's answer; the check runs in a thread, in bounded time."""

    def __init__(self, schema: JsonMapping) -> None:
        self._schema = schema
        self._checker: SchemaChecker | None = None

    async def prepare(self) -> bool:
        """Check the schema itself; return True.

        Raises:
            AIError: BAD_REQUEST for a schema that cannot be used.
        """
        self._checker = await _in_thread(partial(_checker, self._schema))
        return True

    async def check(self, text: str) -> Verdict:
        """Return whether a whole answer is JSON that matches; a code fence around it is ignored.

        Raises:
            AIError: it cannot be checked in time.
        """
        if self._checker is None:
            await self.prepare()
        assert self._checker is not None
        return await _in_thread(partial(_verdict, self._checker, text))

    def instructed(self, request: Request) -> Request:
        """Return a request that asks for the schema in words too; servers may hide it from models.

        Beside tools it does so in words alone: a server that holds the answer to a schema would
        allow no call.
        """
        prompts = [request.system_prompt, self._instruction(has_tools=bool(request.offered_tools))]
        options = request.options
        if request.offered_tools:
            options = replace(options, response_format=None)
        system_prompt = "\n\n".join(prompt for prompt in prompts if prompt)
        return replace(request, system_prompt=system_prompt, options=options)

    def _instruction(self, *, has_tools: bool) -> str:
        answer = "Write your final answer" if has_tools else "Answer"
        schema = dump_json(dict(self._schema))
        if len(schema) > _MAX_REPORTED_LENGTH:
            return f"{answer} as one JSON value only, without any other text."
        return (
            f"{answer} as one JSON value only, without any other text. It must match this "
            f"JSON Schema:\n{schema}"
        )


def mismatch(verdict: Verdict, cut: FinishReason | None = None) -> AIError:
    """Return the error of an answer that does not match; `cut` is why it ended early."""
    if cut == "length":
        return AIError(
            ErrorCode.SCHEMA_MISMATCH,
            "The answer was cut at the token limit, before its JSON was complete.",
            hint="Raise max_tokens, or ask for less.",
        )
    if cut is not None:
        return AIError(
            ErrorCode.SCHEMA_MISMATCH,
            f"The server ended the answer ({clean_line(cut)}) before its JSON was complete.",
            hint="Ask in other words.",
        )
    return AIError(
        ErrorCode.SCHEMA_MISMATCH,
        f"The answer does not match the JSON Schema. {clean_line(' '.join(verdict.faults))}",
        hint="Try again, simplify the schema, or choose a model that follows it.",
    )


def correction(verdict: Verdict) -> str:
    """Return the message that asks the model to correct its answer."""
    faults = " ".join(verdict.faults)
    return (
        f"Your answer does not match the JSON Schema. {faults} "
        "Answer again, with the corrected JSON value only."
    )


FINAL_REQUEST: Final = "Now write your final answer as JSON that matches the schema, and no more."
"""Asks for the answer after tools, if what the model wrote does not match."""


def as_refusal(error: AIError) -> AIError:
    """Return the error of a request with a schema; one about the schema says so."""
    if error.status not in _REFUSING or _ABOUT_SCHEMAS.search(error.message) is None:
        return error
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"The server cannot hold the answer to this JSON Schema: {error.message}",
        hint="Use a simpler schema, another server or model, or no schema.",
        status=error.status,
        provider=error.provider,
        details=error.details,
    )


async def read_schema(name: str) -> JsonObject:
    """Read a JSON Schema from the file of a name that was typed, and check that it can be used.

    Raises:
        AIError: BAD_REQUEST; the message names the file.
    """
    return await _in_thread(partial(load_schema, name))


def schema_file(name: str) -> str | None:
    """Return the whole path of a schema's file, as profiles keep it."""
    path = as_path(name)
    return str(path.absolute()) if path else None


def load_schema(name: str) -> JsonObject:
    """Read a JSON Schema as `read_schema` does, blocking."""
    path, shown = as_path(name), clean_line(name[:MAX_PATH_LENGTH])
    if path is None:
        raise AIError(
            ErrorCode.BAD_REQUEST, "That is not the path of a JSON Schema.", hint="Name a file."
        )
    try:
        schema = parse_json(read_bounded(path, _MAX_FILE_BYTES).decode("utf-8-sig"))
    except BadJson as error:
        raise _unusable(f"{shown} is not JSON: {error}") from None
    except (OSError, ValueError) as error:
        reason = why_unreadable(error)
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"Cannot read the JSON Schema {shown}: {reason}.",
            hint="Name a file that holds a JSON Schema.",
        ) from None
    if not isinstance(schema, dict):
        raise _unusable(f"{shown} holds no JSON object")
    _checker(schema, shown)
    return schema


def _checker(schema: JsonMapping, name: str = "") -> "SchemaChecker":
    # Loaded with the first schema: the library takes a tenth of a second.
    from ollm_tui.tools.json_schema import BadSchema, SchemaChecker

    try:
        return SchemaChecker(schema, formats=True)
    except BadSchema as error:
        which = f"The JSON Schema {name}" if name else "The JSON Schema"
        raise _unusable(f"{which} cannot be used: {error}") from None


def _verdict(checker: "SchemaChecker", text: str) -> Verdict:
    # Loaded by now.
    from ollm_tui.tools.arguments import sentences
    from ollm_tui.tools.json_schema import BadSchema

    answer = unfenced(text)
    if not answer:
        return Verdict(faults=("The answer is empty.",))
    try:
        value = parse_json(answer, in_slices=len(answer) > _SLICED_CHARS)
    except BadJson as error:
        return Verdict(faults=(f"The answer is not JSON: {error}.",))
    try:
        faults = checker.faults(value)
    except BadSchema as error:
        raise AIError(
            ErrorCode.SCHEMA_MISMATCH,
            f"The answer cannot be checked against the JSON Schema: {error}.",
            hint="Simplify the schema: its patterns and references may take too long.",
        ) from None
    return Verdict(value, tuple(sentences(faults, "The answer")))


def _unusable(what: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"{clean_line(what)}.", hint=_CORRECT)


async def _in_thread(work: Callable[[], T]) -> T:
    # A check ends by itself within seconds; whoever waits may leave before.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
