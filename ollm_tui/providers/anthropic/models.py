"""What is known of each model: `ModelInfo`, and limits that its requests have to fit; pure.

Requests are written for the newest models; the list, and refusals, tell what others take.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, objects, positive, present, string
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import SAMPLING_OPTIONS
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.refusals import INVALID, refused_fields

CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt", "tool_use"})
BUDGETS: Mapping[str | None, int] = {"low": 2048, None: 8192, "medium": 8192, "high": 16_384}
"""Tokens of thinking by effort, for models without efforts."""
MIN_BUDGET = 1024
_REQUIRED = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens", "thinking",
     "output_config"}
)  # fmt: skip
"""Keys that are never left out, as the answer would be another one, or none."""
_NOT_SUPPORTED = lazy_re(
    r"deprecated|not support|unsupported|not permitted|not allowed|cannot both|may only be"
    r"|must be unset",
    re.IGNORECASE,
)
_TOO_LONG = lazy_re(r"max_tokens: \d+ > (\d+)")
_NO_ADAPTIVE_THINKING = lazy_re(
    r"adaptive|thinking\.type|thinking: Input|expected tags", re.IGNORECASE
)
"""How a model says that it only thinks by a budget."""
_FEATURES = {"thinking": "thinking", "structured_outputs": "json_mode"}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is known of one model; by default nothing."""

    max_tokens: int | None = None
    thinking_type: str | None = None
    """How thinking is switched on: `adaptive`, `enabled` by a budget, or None if not known."""
    refused: frozenset[str] = frozenset()
    """Sampling options that it refuses, and other keys that it does not know."""

    def fit(self, body: JsonObject) -> JsonObject:
        """Return the body without what the model refuses."""
        fitted = {key: value for key, value in body.items() if key not in self.refused}
        fitted = self._with_thinking_budget(fitted)
        longest = positive(fitted, "max_tokens")
        if self.max_tokens is not None and longest is not None and longest > self.max_tokens:
            fitted["max_tokens"] = self.max_tokens
        return fitted

    def learn(self, body: JsonObject, error: AIError) -> "Limits":
        """Return what is known after a refusal; equal to `self` if that is nothing new."""
        if error.status not in INVALID:
            return self
        message = error.message
        if match := _TOO_LONG.search(message):
            return replace(self, max_tokens=int(match[1]))
        if _NOT_SUPPORTED.search(message):
            # The temperature comes last: of two that exclude each other, it is the one to keep.
            option = next(
                (name for name in reversed(SAMPLING_OPTIONS) if name in body and name in message),
                None,
            )
            if option is not None:
                return replace(self, refused=self.refused | {option})
            unknown = {path[0] for path in refused_fields(body, error)} - _REQUIRED
            if unknown:
                return replace(self, refused=self.refused | unknown)
        is_tried = string(as_object(body.get("thinking")), "type") == "adaptive"
        if self.thinking_type is None and is_tried and _NO_ADAPTIVE_THINKING.search(message):
            return replace(self, thinking_type="enabled")
        return self

    def _with_thinking_budget(self, body: JsonObject) -> JsonObject:
        thinking = string(as_object(body.get("thinking")), "type")
        if self.thinking_type != "enabled" or thinking != "adaptive":
            return body
        config = dict(as_object(body.get("output_config")))
        budget = BUDGETS.get(string(config, "effort"), BUDGETS[None])
        config.pop("effort", None)
        answer = positive(body, "max_tokens") or MIN_BUDGET
        longest = min(answer + budget, self.max_tokens or answer + budget)
        budget = max(MIN_BUDGET, min(budget, longest - 1))
        fitted = body | {
            "thinking": {"type": "enabled", "budget_tokens": budget},
            "max_tokens": longest,
        }
        if config:
            return fitted | {"output_config": config}
        fitted.pop("output_config", None)
        return fitted


class ModelLimits:
    """The limits of each model of one server."""

    def __init__(self) -> None:
        self._limits: dict[object, Limits] = {}
        self._refusals: dict[tuple[object, str], AIError] = {}

    def of(self, model: object) -> Limits:
        """Return what is known of a model."""
        return self._limits.get(model, Limits())

    def list(self, limits: Mapping[str, Limits]) -> None:
        """Add what the server's list declares; what was learned from a refusal stays."""
        for model, declared in limits.items():
            self._limits[model] = replace(
                declared,
                refused=self.of(model).refused,
                thinking_type=self.of(model).thinking_type or declared.thinking_type,
            )

    def fit(self, body: JsonObject, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        """Return the body without what its model refuses; `on_left_out` gets each such field."""
        model = body.get("model")
        known = self.of(model)
        for name in sorted(known.refused & body.keys()):
            if refusal := self._refusals.get((model, name)):
                on_left_out(LeftOut(name, refusal))
        return known.fit(body)

    def adapt(
        self, body: JsonObject, error: AIError, on_left_out: OnLeftOut = ignore_left_out
    ) -> JsonObject | None:
        """Return the body in the form that the error asks for, or None if there is none."""
        model = body.get("model")
        known = self.of(model)
        learned = known.learn(body, error)
        if learned == known:
            return None
        for name in learned.refused - known.refused:
            self._refusals[model, name] = error
        self._limits[model] = learned
        fitted = self.fit(body, on_left_out)
        return None if fitted == body else fitted


def read_page(reply: JsonValue) -> tuple[list[JsonObject], str | None]:
    """Return the entries of a page, and the id after which the next page begins, if any."""
    page = as_object(reply)
    entries = [entry for entry in objects(page.get("data")) if string(entry, "id")]
    last = string(page, "last_id") or (string(entries[-1], "id") if entries else None)
    return entries, last if page.get("has_more") is True else None


def read_models(entries: Sequence[JsonObject]) -> list[ModelInfo]:
    """Read models, in the server's order."""
    return [_model(entry) for entry in entries]


def read_limits(entries: Sequence[JsonObject]) -> dict[str, Limits]:
    """Read the limits of each model."""
    return {string(entry, "id") or "": _limits(entry) for entry in entries}


def _model(entry: JsonObject) -> ModelInfo:
    levels = as_object(as_object(entry.get("capabilities")).get("effort"))
    efforts: list[JsonValue] = [level for level in _EFFORTS if _supports(levels, level)]
    details = {
        "max_output_tokens": positive(entry, "max_tokens"),
        "lifecycle": string(entry, "lifecycle"),
        "efforts": efforts or None,
    }
    return ModelInfo(
        name=string(entry, "id") or "",
        label=string(entry, "display_name"),
        modified_at=string(entry, "created_at"),
        capability=_capability(entry),
        context=positive(entry, "max_input_tokens")
        or positive(as_object(entry.get("meta")), "n_ctx"),  # llama.cpp
        details=present(details),
    )


def _capability(entry: JsonObject) -> ModelCapability | None:
    declared = as_object(entry.get("capabilities"))
    if not declared:
        return None
    inputs = {"text"} | ({"image"} if _supports(declared, "image_input") else set())
    features = {ours for theirs, ours in _FEATURES.items() if _supports(declared, theirs)}
    return ModelCapability(frozenset(inputs), frozenset({"text"}), CHAT_FEATURES | features)


def _limits(entry: JsonObject) -> Limits:
    thinking = as_object(as_object(entry.get("capabilities")).get("thinking"))
    types = as_object(thinking.get("types"))
    thinking_type = next((name for name in ("adaptive", "enabled") if _supports(types, name)), None)
    return Limits(max_tokens=positive(entry, "max_tokens"), thinking_type=thinking_type)


def _supports(declared: JsonObject, name: str) -> bool:
    return as_object(declared.get(name)).get("supported") is True
