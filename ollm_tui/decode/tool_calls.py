"""Put tool calls together from the pieces that servers send; their number and size have limits."""

import secrets
from collections.abc import Callable, Mapping, Sequence

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.decode.json_guard import BadJson, dump_or_reason, parse_json
from ollm_tui.decode.json_span import JsonExtent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolCall

_OWN_KEYS = frozenset({"index", "id", "type", "function"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """One entry of a ``tool_calls`` array: a piece of a call, or a whole one.

    None, like an empty text or the text "null" as id or name, leaves a value as it was.
    ``arguments`` is a piece of JSON text, or the whole arguments as an object.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JsonObject | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)


def read_tool_call_deltas(value: JsonValue) -> list[ToolCallDelta]:
    """Return the entries of a wire value; what is not an object is skipped."""
    entries = value if isinstance(value, list) else [value]
    return [_read_entry(entry) for entry in entries if isinstance(entry, dict)]


def _read_entry(entry: JsonObject) -> ToolCallDelta:
    function = as_object(entry.get("function"))
    index = entry.get("index", function.get("index"))
    return ToolCallDelta(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        id=string(entry, "id"),
        name=string(function, "name"),
        arguments=_read_arguments(function.get("arguments")),
        extra={key: part for key, part in entry.items() if key not in _OWN_KEYS},
    )


def _read_arguments(value: JsonValue) -> str | JsonObject | None:
    if value is None or isinstance(value, str | dict):
        return value
    # A list or a number is not an arguments object: as text it is rejected at the end.
    return dump_or_reason(value)


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call while its pieces arrive; ``_whole`` is set if the arguments came as an object."""

    id: str | None = None
    name: str | None = None
    index: int | None = None
    extra: dict[str, JsonValue] = field(default_factory=dict)
    damaged: bool = False
    _whole: JsonObject | None = None
    _fragments: list[str] = field(default_factory=list)
    _followed: int = 0
    _extent: JsonExtent = field(default_factory=JsonExtent)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither id, name nor arguments."""
        return not (self.id or self.name or self._has_arguments)

    def take(self, id_: str | None, name: str | None, delta: ToolCallDelta) -> None:
        """Add a delta; id, name and index keep their first value."""
        self.id = self.id or id_
        self.name = self.name or name
        self.index = delta.index if self.index is None else self.index
        self.extra.update(delta.extra)
        if isinstance(delta.arguments, dict):
            self._take_object(delta.arguments)
        elif delta.arguments:
            self._fragments.append(delta.arguments)

    def refuses(self, name: str | None, delta: ToolCallDelta) -> bool:
        """Whether a delta that names a tool must be about another call than this one."""
        if name is None or self.name is None:
            return False
        if delta.index is None and name != self.name:
            return True
        if isinstance(delta.arguments, dict):
            return self._has_arguments
        return (delta.arguments or "").lstrip().startswith("{") and self.looks_whole()

    def looks_whole(self) -> bool:
        """Whether the arguments so far are an object that has been closed."""
        if self._whole is None:
            self._extent.feed("".join(self._fragments[self._followed :]))
            self._followed = len(self._fragments)
        return self._whole is not None or self._extent.closed

    def raw_args(self) -> str:
        """Return the arguments as they were written, or the JSON of an object."""
        if self._whole is None:
            return "".join(self._fragments)
        return dump_or_reason(self._whole) + "".join(self._fragments)

    def parse(self) -> JsonObject | None:
        """Return the arguments, ``{}`` for none, or None if they are damaged."""
        if self.damaged:
            return None
        if self._whole is not None and not "".join(self._fragments).strip():
            return self._whole
        return parse_arguments(self.raw_args())

    @property
    def _has_arguments(self) -> bool:
        return self._whole is not None or any(part.strip() for part in self._fragments)

    def _take_object(self, arguments: JsonObject) -> None:
        if not self._has_arguments:
            self._whole = arguments
        elif arguments and arguments != self._whole:
            self._fragments.append(dump_or_reason(arguments))


def parse_arguments(text: str) -> JsonObject | None:
    """Return the arguments object that a model wrote, ``{}`` for none, or None if damaged.

    Some gateways encode the object as a JSON string: one such layer is removed. Repeated keys count
    as damage: one value could be approved and the other run.
    """
    try:
        value = _parse_or_empty(text)
        if isinstance(value, str):
            value = _parse_or_empty(value)
    except BadJson:
        return None
    return value if isinstance(value, dict) else None


def _parse_or_empty(text: str) -> JsonValue:
    value = parse_json(text, unique_keys=True) if text.strip() else {}
    return {} if value is None else value


MAX_CALLS = 1024
MAX_CALL_BYTES = 16 * 1024 * 1024
"""Limit for all calls of an answer in memory."""
_PIECE_BYTES = 64
_CONTAINER_BYTES = 200
_PLACEHOLDERS = frozenset({"", "null", "None"})


def new_call_id(number: int) -> str:
    """Return a unique id for a call."""
    return f"call_{number}_{secrets.token_hex(6)}"


class ToolCallAssembler:
    """Collect the deltas of one answer; ``new_id`` makes the ids that a server left out.

    A delta belongs to the call of its id, else to the newest of its index, else to the newest of
    all or, in an array of several, to the one at the same place of the last such array. One that
    names a tool begins a new call if it cannot continue the one found.
    """

    def __init__(self, new_id: Callable[[int], str] = new_call_id) -> None:
        self._new_id = new_id
        self._calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._places: list[OpenCall] = []
        self._made = 0
        self._size = 0

    @property
    def started(self) -> bool:
        """Whether any call has begun."""
        return any(not call.is_empty for call in self._calls)

    def feed(self, deltas: Sequence[ToolCallDelta]) -> None:
        """Take the deltas of one ``tool_calls`` array.

        Raises:
            LimitPassed: if there are too many calls, or they are too large.
        """
        self._grow(sum(map(_size_of, deltas)))
        several = len(deltas) > 1
        chosen = [self._take(d, place if several else None) for place, d in enumerate(deltas)]
        if several:
            self._places = chosen
        if len(self._calls) > MAX_CALLS:
            raise LimitPassed(f"the server sent more than {MAX_CALLS} tool calls")

    def weigh(self, arguments: JsonMapping) -> None:
        """Count arguments that are kept elsewhere.

        Raises:
            LimitPassed: if the calls are too large.
        """
        self._grow(_size_of_object(arguments))

    def lose_piece(self) -> None:
        """Note that a part of the stream was unreadable: no call that is open may run.

        The rest of its arguments may still be JSON, with something missing in the middle.
        """
        for call in self._calls:
            call.damaged = call.damaged or not call.looks_whole()

    def finish(self, complete: bool = True) -> list[ToolCall]:
        """Return the calls in their order; none if the answer was cut and not ``complete``."""
        if not complete:
            return []
        return [self._build(call, call.parse()) for call in self._calls if not call.is_empty]

    def incomplete(self) -> list[ToolCall]:
        """Return the calls as far as they have arrived, without arguments, so that none is run."""
        return [self._build(call, None) for call in self._calls if not call.is_empty]

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_CALL_BYTES:
            raise LimitPassed(f"the server sent tool calls larger than {MAX_CALL_BYTES} bytes")

    def _take(self, delta: ToolCallDelta, place: int | None) -> OpenCall:
        id_, name = _read_name(delta.id), _read_name(delta.name)
        known = self._find_by_id(id_, name, delta) if id_ else self._find(name, delta, place)
        call = known or OpenCall()
        if not known:
            self._calls.append(call)
        call.take(id_, name, delta)
        if delta.index is not None:
            self._by_index[delta.index] = call
        if id_:
            self._by_id.setdefault(id_, call)
        return call

    def _find_by_id(self, id_: str, name: str | None, delta: ToolCallDelta) -> OpenCall | None:
        at_index = None if delta.index is None else self._by_index.get(delta.index)
        if at_index and at_index.id == id_:
            return at_index
        if at_index and at_index.id is None and not at_index.refuses(name, delta):
            return at_index
        known = self._by_id.get(id_)
        if known and known.index is not None and delta.index is not None and not at_index:
            return None
        return known

    def _find(self, name: str | None, delta: ToolCallDelta, place: int | None) -> OpenCall | None:
        if delta.index is not None:
            call = self._by_index.get(delta.index)
        else:
            call = self._find_by_place(place, named=name is not None)
        return None if call and call.refuses(name, delta) else call

    def _find_by_place(self, place: int | None, *, named: bool) -> OpenCall | None:
        newest = self._calls[-1] if self._calls else None
        if place is None:
            return newest
        if place < len(self._places):
            return self._places[place]
        return newest if place == 0 and not named else None

    def _build(self, call: OpenCall, args: JsonObject | None) -> ToolCall:
        if call.id is None or self._by_id[call.id] is not call:
            call.id = self._make_id()
            self._by_id[call.id] = call
        return ToolCall(
            id=call.id,
            name=call.name or "",
            args=args,
            raw_args=call.raw_args(),
            extra=dict(call.extra),
        )

    def _make_id(self) -> str:
        self._made += 1
        made = self._new_id(self._made)
        return self._make_id() if made in self._by_id else made


def _size_of(delta: ToolCallDelta) -> int:
    size = _PIECE_BYTES + len(delta.id or "") + len(delta.name or "")
    if isinstance(delta.arguments, str):
        size += len(delta.arguments)
    elif delta.arguments:
        size += _size_of_object(delta.arguments)
    return size + _size_of_object(delta.extra) if delta.extra else size


def _size_of_object(value: JsonMapping) -> int:
    text = dump_or_reason(dict(value))
    return len(text) + _CONTAINER_BYTES * (text.count("{") + text.count("["))


def _read_name(value: str | None) -> str | None:
    """Return a name or id without the values that mean "unchanged"."""
    name = (value or "").strip()
    return None if name in _PLACEHOLDERS else name
