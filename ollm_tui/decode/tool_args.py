"""Put tool calls together from the pieces that servers send.

States and transitions, for each call:

* ``open``: begun by the first delta that belongs to no earlier call. Id and name are set once, by
  the first delta that has them; argument text is collected in order.
* ``finished``: only the end of the stream leads here, because the beginning of the arguments may
  be valid JSON already. The arguments are parsed once, here.

Which call a delta belongs to:

1. an id that is known: that call, unless it comes under an index of its own that is new;
2. an id that is new: a new call, even under a known index; but a call that began without an id
   takes the first one that comes under its index;
3. an index that is known: the newest call of that index; one that is new: a new call;
4. neither: the newest call, or, in an array of several entries, the call at the same place of the
   last such array.

By 3 and 4 a delta that names a tool begins a new call if it cannot continue the one found: its
arguments begin a second object, or, without an index, it names another tool.

Calls are kept until the end, so their number and what they take in memory have limits.
"""

import secrets
from collections.abc import Callable, Sequence

from ollm_tui.decode.json_guard import dump_or_reason
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.decode.open_call import OpenCall
from ollm_tui.decode.tool_deltas import ToolCallDelta
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.tools import ToolCall

MAX_CALLS = 1024
MAX_CALL_BYTES = 16 * 1024 * 1024
"""What all calls of an answer may take in memory."""
_PIECE_BYTES = 64
_CONTAINER_BYTES = 200
_PLACEHOLDERS = frozenset({"", "null", "None"})


def new_call_id(number: int) -> str:
    """Return an id for the call of this number that no other call of a conversation has."""
    return f"call_{number}_{secrets.token_hex(6)}"


class ToolCallAssembler:
    """Collect the deltas of one answer; ``new_id`` makes the ids that a server left out."""

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

    def delta(
        self,
        index: int | None,
        id: str | None,
        name: str | None,
        arguments: str | JsonObject | None,
        extra: JsonMapping | None = None,
    ) -> None:
        """Take a delta that came alone."""
        self.feed(
            [ToolCallDelta(index=index, id=id, name=name, arguments=arguments, extra=extra or {})]
        )

    def feed(self, deltas: Sequence[ToolCallDelta]) -> None:
        """Take the deltas of one ``tool_calls`` array.

        Raises:
            LimitPassed: when there are too many calls, or they are too large.
        """
        self._grow(sum(map(_size_of, deltas)))
        several = len(deltas) > 1
        chosen = [self._take(d, place if several else None) for place, d in enumerate(deltas)]
        if several:
            self._places = chosen
        if len(self._calls) > MAX_CALLS:
            raise LimitPassed(f"the server sent more than {MAX_CALLS} tool calls")

    def weigh(self, arguments: JsonMapping) -> None:
        """Count arguments that are kept elsewhere until the end.

        Raises:
            LimitPassed: when the calls are too large.
        """
        self._grow(_size_of_object(arguments))

    def lose_piece(self) -> None:
        """Note that a part of the stream was unreadable: no call that was open then may run.

        What is left of its arguments may still be JSON, with something missing in the middle.
        """
        for call in self._calls:
            call.damaged = call.damaged or not call.looks_whole()

    def finish(self, complete: bool = True) -> list[ToolCall]:
        """Return the calls in their order; none if the answer was cut and not ``complete``."""
        if not complete:
            return []
        return [self._build(call, call.parse()) for call in self._calls if not call.is_empty]

    def incomplete(self) -> list[ToolCall]:
        """Return the calls as far as they came, none of them runnable."""
        return [self._build(call, None) for call in self._calls if not call.is_empty]

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_CALL_BYTES:
            raise LimitPassed(f"the server sent tool calls larger than {MAX_CALL_BYTES} bytes")

    def _take(self, delta: ToolCallDelta, place: int | None) -> OpenCall:
        id_, name = _read_name(delta.id), _read_name(delta.name)
        found = self._find_by_id(id_, name, delta) if id_ else self._find(name, delta, place)
        call = found or OpenCall()
        if not found:
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
            found = self._by_index.get(delta.index)
        else:
            found = self._find_by_place(place, named=name is not None)
        return None if found and found.refuses(name, delta) else found

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
