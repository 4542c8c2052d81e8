"""Pages of `/models` as `ModelInfo`; pure, and every field may be missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ollm_tui.decode.json_fields import as_object, objects, positive, string
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.providers.refusals import INVALID, refused_fields
from ollm_tui.providers.unsupported import OnLeftOut, ignore_left_out

BUDGETS: Mapping[str | None, int] = MappingProxyType(
    {"low": 2048, None: 8192, "medium": 8192, "high": 16_384}
)
"""Tokens of reasoning by effort, for models that take no effort."""
LEAST_BUDGET = 1024
_SAMPLING = ("top_k", "top_p", "temperature")
_OF_THE_PROTOCOL = frozenset(
    {
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "max_tokens",
        "thinking",
        "output_config",
    }
)
"""What is never left out: the answer would be another one, or none."""
_UNTAKEN = re.compile(
    r"deprecated|not support|unsupported|not permitted|not allowed|cannot both|may only be"
    r"|must be unset",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(r"max_tokens: \d+ > (\d+)")
_OLDER = re.compile(r"adaptive|thinking\.type|thinking: Input|expected tags", re.IGNORECASE)
"""How a model says that it thinks by a budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is known of one model; nothing is known of a new one."""

    most_tokens: int | None = None
    thinks_by: str | None = None
    """`adaptive` or `enabled`: how thinking is switched on; None is the newer way, on trial."""
    untaken: frozenset[str] = frozenset()
    """Sampling options that it refuses, and further keys that it does not know."""

    def fit(self, body: JsonObject) -> JsonObject:
        """Give a request that the model takes."""
        fitted = {key: value for key, value in body.items() if key not in self.untaken}
        fitted = self._with_its_thinking(fitted)
        longest = positive(fitted, "max_tokens")
        if self.most_tokens is not None and longest is not None and longest > self.most_tokens:
            fitted["max_tokens"] = self.most_tokens
        return fitted

    def learn(self, body: JsonObject, error: AIError) -> "Limits":
        """Give what is known after a refusal; the same where it teaches nothing."""
        if error.status not in INVALID:
            return self
        words = error.message
        if found := _TOO_LONG.search(words):
            return replace(self, most_tokens=int(found[1]))
        if _UNTAKEN.search(words):
            named = next((name for name in _SAMPLING if name in body and name in words), None)
            if named is not None:
                return replace(self, untaken=self.untaken | {named})
            unknown = {path[0] for path in refused_fields(body, error)} - _OF_THE_PROTOCOL
            if unknown:
                return replace(self, untaken=self.untaken | unknown)
        asked = string(as_object(body.get("thinking")), "type")
        if self.thinks_by is None and asked == "adaptive" and _OLDER.search(words):
            return replace(self, thinks_by="enabled")
        return self

    def _with_its_thinking(self, body: JsonObject) -> JsonObject:
        asked = string(as_object(body.get("thinking")), "type")
        if self.thinks_by != "enabled" or asked != "adaptive":
            return body
        config = dict(as_object(body.get("output_config")))
        budget = BUDGETS.get(string(config, "effort"), BUDGETS[None])
        config.pop("effort", None)
        answer = positive(body, "max_tokens") or LEAST_BUDGET
        longest = min(answer + budget, self.most_tokens or answer + budget)
        budget = max(LEAST_BUDGET, min(budget, longest - 1))
        fitted = body | {
            "thinking": {"type": "enabled", "budget_tokens": budget},
            "max_tokens": longest,
        }
        if config:
            return fitted | {"output_config": config}
        fitted.pop("output_config", None)
        return fitted


class KnownModels:
    """The limits of each model of one server."""

    def __init__(self) -> None:
        self._limits: dict[object, Limits] = {}
        self._refusals: dict[tuple[object, str], AIError] = {}

    def of(self, model: object) -> Limits:
        """Give what is known of a model."""
        return self._limits.get(model, Limits())

    def list(self, limits: Mapping[str, Limits]) -> None:
        """Take what the listing says; what was learned from a refusal stays."""
        for model, told in limits.items():
            self._limits[model] = replace(
                told,
                untaken=self.of(model).untaken,
                thinks_by=self.of(model).thinks_by or told.thinks_by,
            )

    def fit(self, body: JsonObject, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        """Give a request that its model takes, as far as that is known.

        `on_left_out` is given every field that is left out for it.
        """
        model = body.get("model")
        known = self.of(model)
        for name in sorted(known.untaken & body.keys()):
            if refusal := self._refusals.get((model, name)):
                on_left_out(LeftOut(name, refusal))
        return known.fit(body)

    def adapt(
        self, body: JsonObject, error: AIError, on_left_out: OnLeftOut = ignore_left_out
    ) -> JsonObject | None:
        """Give the request in the form that the error asks for, None if there is none."""
        model = body.get("model")
        known = self.of(model)
        learned = known.learn(body, error)
        if learned == known:
            return None
        for name in learned.untaken - known.untaken:
            self._refusals[model, name] = error
        self._limits[model] = learned
        fitted = self.fit(body, on_left_out)
        return None if fitted == body else fitted


CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt", "tool_use"})
_FEATURES = {"thinking": "thinking", "structured_outputs": "json_mode"}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def read_page(reply: JsonValue) -> tuple[list[JsonObject], str | None]:
    """Give the entries of a page, and after which id the next one begins if there is one."""
    page = as_object(reply)
    entries = [entry for entry in objects(page.get("data")) if string(entry, "id")]
    last = string(page, "last_id") or (string(entries[-1], "id") if entries else None)
    return entries, last if page.get("has_more") is True else None


def read_models(entries: Sequence[JsonObject]) -> list[ModelInfo]:
    """Read models, in the server's order."""
    return [_model(entry) for entry in entries]


def read_limits(entries: Sequence[JsonObject]) -> dict[str, Limits]:
    """Read what the requests to each model have to keep to."""
    return {string(entry, "id") or "": _limits(entry) for entry in entries}


def _model(entry: JsonObject) -> ModelInfo:
    details: JsonObject = {}
    if longest := positive(entry, "max_tokens"):
        details["max_output_tokens"] = longest
    if stage := string(entry, "lifecycle"):
        details["lifecycle"] = stage
    if efforts := _efforts(as_object(entry.get("capabilities"))):
        details["efforts"] = [*efforts]
    return ModelInfo(
        name=string(entry, "id") or "",
        label=string(entry, "display_name"),
        modified_at=string(entry, "created_at"),
        capability=_capability(entry),
        context=positive(entry, "max_input_tokens")
        or positive(as_object(entry.get("meta")), "n_ctx"),  # llama.cpp
        details=details,
    )


def _capability(entry: JsonObject) -> ModelCapability | None:
    told = as_object(entry.get("capabilities"))
    if not told:
        return None
    inputs = {"text"} | ({"image"} if _supported(told, "image_input") else set())
    features = {ours for theirs, ours in _FEATURES.items() if _supported(told, theirs)}
    return ModelCapability(frozenset(inputs), frozenset({"text"}), CHAT_FEATURES | features)


def _limits(entry: JsonObject) -> Limits:
    thinking = as_object(as_object(entry.get("capabilities")).get("thinking"))
    types = as_object(thinking.get("types"))
    way = next((name for name in ("adaptive", "enabled") if _supported(types, name)), None)
    return Limits(most_tokens=positive(entry, "max_tokens"), thinks_by=way)


def _efforts(told: JsonObject) -> list[str]:
    levels = as_object(told.get("effort"))
    return [level for level in _EFFORTS if _supported(levels, level)]


def _supported(told: JsonObject, name: str) -> bool:
    return as_object(told.get(name)).get("supported") is True
