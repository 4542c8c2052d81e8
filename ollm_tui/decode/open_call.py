"""One tool call while its pieces arrive."""

from dataclasses import dataclass, field

from ollm_tui.decode.json_extent import JsonExtent
from ollm_tui.decode.json_guard import BadJson, dump_or_reason, parse_json
from ollm_tui.decode.tool_deltas import ToolCallDelta
from ollm_tui.protocol.json_types import JsonObject, JsonValue


@dataclass(slots=True, eq=False)
class OpenCall:
    """What is known of a call so far; ``whole`` is set when the arguments came as an object."""

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
        """Whether nothing came that a reader could call a tool call."""
        return not (self.id or self.name or self._has_arguments)

    def take(self, id_: str | None, name: str | None, delta: ToolCallDelta) -> None:
        """Add a delta; what is set once stays."""
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

    Some gateways write the object as a JSON string that holds JSON: one such layer is taken off.
    Repeated keys are damage: a person must not approve one value while another one is run.
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
