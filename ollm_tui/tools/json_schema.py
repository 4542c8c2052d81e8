"""Check values against a JSON Schema from anywhere: in bounded time, and without downloads.

The library checks values. What it would do without limits is replaced here: regular expressions,
references that lead elsewhere, the comparison of all items of a list, rules that call each other
without end.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import unquote

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_guard import BadJson, dump_json, dump_or_reason, parse_json
from ollm_tui.decode.repeats import MAX_REPEATS, repeats_of
from ollm_tui.decode.schema_parts import NO_SCHEMAS, SCHEMA_MAPS
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.tools.schema_formats import format_checker

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MAX_CHARS: Final = 128_000
"""Characters of a schema; more would take seconds to check."""
MAX_SCHEMAS: Final = 2_000
"""Schemas within a schema, such as those of properties: each takes up to a millisecond."""
MAX_DEPTH: Final = 64
"""Levels of objects and lists in a schema; servers give up long before."""
MAX_PATTERN_LENGTH: Final = 2_000
_MAX_REPEATS: Final = 1_000_000
"""Repeats in all patterns of a schema."""
WITHIN_S: Final = 2.0
"""Time limit of one check."""
_TRIAL_S: Final = 0.5
_TRIALS: Final[tuple[JsonValue, ...]] = (None, {}, [])
"""Values that show at once whether a schema leads to itself without end."""
_PATTERN_S: Final = 0.05
"""Processor time for one pattern and one text."""
_MAX_COUNTED: Final = 100
_SHOWN: Final = 80
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
Faults: TypeAlias = "Iterator[ValidationError]"
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]


class BadSchema(Exception):
    """The schema cannot be used; the message is a sentence without its full stop."""


@dataclass(slots=True)
class _Contents:
    """What a walk through a schema finds."""

    schemas: set[int] = field(default_factory=set)
    """The identities of all schemas in it."""
    keywords: set[str] = field(default_factory=set)
    references: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)

    def add(self, schema: JsonObject) -> None:
        """Add one schema, without those inside it."""
        if len(self.schemas) == MAX_SCHEMAS:
            raise BadSchema(f"it holds more than {MAX_SCHEMAS:,} schemas")
        self.schemas.add(id(schema))
        self.keywords |= schema.keys()
        self.references += [ref for key in _REFERENCES if isinstance(ref := schema.get(key), str)]
        self.anchors |= {name for key in _ANCHORS if isinstance(name := schema.get(key), str)}
        if isinstance(pattern := schema.get("pattern"), str):
            self.patterns.add(pattern)
        if isinstance(by_pattern := schema.get("patternProperties"), dict):
            self.patterns |= by_pattern.keys()


class SchemaChecker:
    """A schema that can be used, ready to check values; safe to use from several threads.

    `formats`: whether the formats in `schema_formats.py` are checked; otherwise `format` is an
    annotation.

    Raises:
        BadSchema: it is not a JSON Schema, too large, or leads out of itself.
    """

    def __init__(self, schema: JsonMapping, *, formats: bool = False) -> None:
        own = _copy(schema)
        draft = _draft(own)
        contents = _Contents()
        _walk(own, contents, 0)
        _check_references(own, contents)
        _check_rules(draft, own)
        _check_patterns(contents)
        self._bounds = _Bounds()
        kind = self._bounds.applied_to(draft)
        # Imported with the first schema: it takes a tenth of a second.
        from referencing import Registry

        # With a registry of its own a reference to elsewhere is a fault and never a download.
        checker = format_checker() if formats else None
        self._validator: Validator = kind(own, registry=Registry(), format_checker=checker)
        for value in _TRIALS:
            self.faults(value, _TRIAL_S)

    def faults(self, value: JsonValue, within_s: float = WITHIN_S) -> "list[ValidationError]":
        """Return the faults of a value by their place in it; empty if there is none.

        Raises:
            BadSchema: the check takes too long, or the schema leads to itself without end.
        """
        # Loaded by now.
        import regex
        from jsonschema.exceptions import UnknownType
        from referencing.exceptions import Unresolvable

        self._bounds.begin(within_s)
        try:
            faults = list(islice(self._validator.iter_errors(value), _MAX_COUNTED))
        except TimeoutError:
            raise BadSchema("checking a value takes too long") from None
        except RecursionError:
            raise BadSchema("it is nested too deeply, or leads to itself without end") from None
        except (OverflowError, UnknownType, Unresolvable, regex.error) as error:
            raise BadSchema(str(error)) from error
        return sorted(faults, key=lambda fault: fault.json_path)


def _copy(schema: JsonMapping) -> JsonObject:
    """Return a schema of plain JSON that the checker may change."""
    try:
        text = dump_json(dict(schema))
        if len(text) > MAX_CHARS:
            raise BadSchema(f"it has more than {MAX_CHARS:,} characters")
        copied = parse_json(text)
    except (BadJson, TypeError) as error:
        raise BadSchema(f"it is not JSON: {error}") from None
    assert isinstance(copied, dict)
    return copied


def _draft(schema: JsonObject) -> "type[Validator]":
    """Return the version of JSON Schema that it is written for."""
    # Loaded with the first schema, as above.
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    # The library would follow `$schema` and `$id` anywhere in it, past everything that is bounded.
    named = schema.pop("$schema", None)
    for key in ("$id", "id"):
        schema.pop(key, None)
    if named is None:
        return Draft202012Validator
    if not isinstance(named, str):
        raise BadSchema("its `$schema` is not text")
    known: type[Validator] | None = validator_for({"$schema": named}, default=None)  # type: ignore[arg-type]
    if known is None:
        raise BadSchema(f"its `$schema` names an unknown version: {_shortened(named)}")
    return known


def _walk(node: JsonValue, contents: _Contents, depth: int) -> None:
    """Visit a schema and all schemas in it; what is no schema, such as `const`, is left alone."""
    if depth > MAX_DEPTH:
        raise BadSchema(f"it has more than {MAX_DEPTH} levels")
    if isinstance(node, list):
        for item in node:
            _walk(item, contents, depth + 1)
    elif isinstance(node, dict):
        if depth and ("$schema" in node or isinstance(node.get("$id"), str)):
            raise BadSchema("a schema within it has a `$schema` or `$id` of its own")
        contents.add(node)
        for key, value in node.items():
            if key in SCHEMA_MAPS and isinstance(value, dict):
                for inner in value.values():
                    _walk(inner, contents, depth + 2)
            elif key not in NO_SCHEMAS:
                _walk(value, contents, depth + 1)


def _check_references(schema: JsonObject, contents: _Contents) -> None:
    for reference in contents.references:
        if not reference.startswith("#"):
            raise BadSchema(
                f"its reference {_shortened(reference)!r} leads out of it, and is not followed"
            )
        name = unquote(reference[1:])
        if name.startswith("/") or not name:
            is_known = id(_pointed_at(schema, name)) in contents.schemas
        else:
            is_known = name in contents.anchors
        if not is_known:
            raise BadSchema(f"its reference {_shortened(reference)!r} leads to no schema")


def _pointed_at(schema: JsonValue, pointer: str) -> JsonValue:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        match schema:
            case dict():
                schema = schema.get(key)
            case list() if key.isdecimal() and int(key[:9]) < len(schema):
                schema = schema[int(key[:9])]
            case _:
                return None
    return schema


def _check_rules(draft: "type[Validator]", schema: JsonObject) -> None:
    """Check a schema against the schema of schemas; its first fault is enough."""
    try:
        fault = next(draft(draft.META_SCHEMA).iter_errors(schema), None)
    except RecursionError:
        raise BadSchema("it is nested too deeply") from None
    if fault is not None:
        where = fault.json_path.removeprefix("$").removeprefix(".") or "its first level"
        value = dump_or_reason(cast("JsonValue", fault.instance))
        raise BadSchema(f"{_shortened(where)} is not as JSON Schema has it: {_shortened(value)}")


def _check_patterns(contents: _Contents) -> None:
    # Loaded with the first schema, as above.
    import regex

    if contents.keywords >= {"patternProperties", "unevaluatedProperties"}:
        raise BadSchema("it has both patternProperties and unevaluatedProperties")
    repeats = 0
    for pattern in contents.patterns:
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise BadSchema(f"a pattern in it has more than {MAX_PATTERN_LENGTH:,} characters")
        repeats += repeats_of(pattern)
        if repeats_of(pattern) > MAX_REPEATS or repeats > _MAX_REPEATS:
            raise BadSchema(f"its pattern {_shortened(pattern)!r} repeats too often")
        try:
            regex.compile(pattern)
        except (regex.error, OverflowError, RecursionError) as error:
            raise BadSchema(f"its pattern {_shortened(pattern)!r} is wrong: {error}") from None


class _Bounds:
    """The time limit of a check, and the keywords that have no bound in the library."""

    def __init__(self) -> None:
        self._limit = threading.local()

    def begin(self, within_s: float) -> None:
        """Start the time of a check in this thread."""
        self._limit.until = time.monotonic() + within_s

    def left(self) -> float:
        """Return the seconds that are left; TimeoutError if none are."""
        left: float = self._limit.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def applied_to(self, draft: "type[Validator]") -> "type[Validator]":
        """Return the validator of a version of JSON Schema, with a time limit."""
        # Loaded with the first schema, as above.
        from jsonschema.validators import extend

        own = {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": self._unique_items,
        }
        known: Mapping[str, Keyword] = draft.VALIDATORS
        keywords = {name: self._timed(own.get(name, check)) for name, check in known.items()}
        types = draft.TYPE_CHECKER.redefine("boolean", self._is_boolean)
        bounded: type[Validator] = extend(draft, keywords, type_checker=types)  # type: ignore[no-untyped-call] # as its stubs
        return bounded

    def _timed(self, keyword: Keyword) -> Keyword:
        @wraps(keyword)
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> "Faults | None":
            self.left()
            return keyword(validator, value, instance, schema)

        return check

    def _is_boolean(self, _checker: object, value: object) -> bool:
        self.left()  # `unevaluatedProperties` asks this before each further step
        return isinstance(value, bool)

    def _matches(self, pattern: str, text: str) -> bool:
        # Loaded with the first schema, as above.
        import regex

        within_s = min(_PATTERN_S, self.left())
        # `concurrent` lets the rest of the program run meanwhile.
        return bool(regex.search(pattern, text, timeout=within_s, concurrent=True))

    def _pattern(self, _validator: Any, pattern: Any, instance: Any, _schema: Any) -> "Faults":
        if isinstance(instance, str) and not self._matches(pattern, instance):
            yield _fault(f"must match {pattern}")

    def _pattern_properties(
        self, validator: Any, schemas: Any, instance: Any, _schema: Any
    ) -> "Faults":
        for pattern, schema in schemas.items() if isinstance(instance, dict) else ():
            for name, value in instance.items():
                if self._matches(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)

    def _additional_properties(
        self, validator: Any, allowed: Any, instance: Any, schema: Any
    ) -> "Faults":
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name in instance if isinstance(instance, dict) else ():
            if name in known or any(self._matches(pattern, name) for pattern in patterns):
                continue
            if allowed is False:
                yield _fault(f"{name} is not allowed")
                return
            yield from validator.descend(instance[name], allowed, path=name)

    def _unique_items(self, _validator: Any, wanted: Any, instance: Any, _schema: Any) -> "Faults":
        is_checked = wanted and isinstance(instance, list)
        if is_checked and len({_canonical(item) for item in instance}) < len(instance):
            yield _fault("its items are not unique")


def _fault(message: str) -> "ValidationError":
    # Loaded with the first schema, as above.
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _canonical(value: JsonValue) -> object:
    """Return what is equal for equal JSON values, and can be a member of a set."""
    match value:
        case bool() | None:
            return str(value), None
        case dict():
            return frozenset((key, _canonical(inner)) for key, inner in value.items())
        case list():
            return tuple(_canonical(item) for item in value)
        case _:
            return value


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
