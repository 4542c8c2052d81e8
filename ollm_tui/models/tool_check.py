"""How well a model calls tools, as a check found out: the score of each way, and the better one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo

ToolWay: TypeAlias = Literal["native", "react"]
"""How a model is given its tools: with its own template, or described in text."""
WAYS: Final[tuple[ToolWay, ...]] = ("native", "react")
WAY_WORDS: Final[Mapping[str, str]] = {"native": "native calls", "react": "calls as text"}
WORKS_FROM: Final = 0.5
"""The share of tasks from which a way is good enough to use."""
DETAIL: Final = "tool_check"
"""The key of a check in `ModelInfo.details`."""


@dataclass(frozen=True, slots=True)
class WayScore:
    """How often the tasks were done in one way of calling."""

    passed: int
    tasks: int
    is_refused: bool = False
    """Whether the server takes no tools for this model."""

    @property
    def share(self) -> float:
        """The share of the tasks that were done, from 0 to 1."""
        return self.passed / self.tasks if self.tasks else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCheck:
    """The result of a check."""

    scores: Mapping[ToolWay, WayScore]
    checked_at: str
    """ISO 8601."""
    template: str = ""
    """Where the chat template came from that native calls used; empty if that is not known."""

    @property
    def way(self) -> ToolWay | None:
        """The way that works best; native calls if both are as good, None if none works."""
        able = [way for way in WAYS if way in self.scores and self._share(way) >= WORKS_FROM]
        return max(able, key=self._share, default=None)

    @property
    def best(self) -> WayScore:
        """The score of the way that works best, or of the best that failed."""
        return max(self.scores.values(), key=lambda score: score.share)

    def _share(self, way: ToolWay) -> float:
        return self.scores[way].share

    def to_json(self) -> JsonObject:
        """Return it as it is kept."""
        scores: JsonObject = {
            way: {"passed": score.passed, "tasks": score.tasks, "refused": score.is_refused}
            for way, score in self.scores.items()
        }
        return {"scores": scores, "checked_at": self.checked_at, "template": self.template}


def tool_check_from(kept: JsonValue) -> ToolCheck | None:
    """Read what was kept; None if it is no check."""
    values = as_object(kept)
    scores = {
        way: score
        for way in WAYS
        if (score := _score_from(as_object(values.get("scores")).get(way))) is not None
    }
    when, template = values.get("checked_at"), values.get("template")
    if not scores or not isinstance(when, str):
        return None
    return ToolCheck(
        scores=scores, checked_at=when, template=template if isinstance(template, str) else ""
    )


def _score_from(kept: JsonValue) -> WayScore | None:
    match as_object(kept):
        case {"passed": int(passed), "tasks": int(tasks), "refused": bool(is_refused)} if (
            0 <= passed <= tasks
        ):
            return WayScore(passed, tasks, is_refused)
    return None


def with_tool_check(info: ModelInfo, check: ToolCheck | None) -> ModelInfo:
    """Return a model's description with its check, if there is one."""
    if check is None:
        return info
    return replace(info, details={**info.details, DETAIL: check.to_json()})


def tool_check_of(info: ModelInfo) -> ToolCheck | None:
    """Return the check in a model's description; None without one."""
    return tool_check_from(info.details.get(DETAIL))


def score_words(score: WayScore) -> str:
    """Return a score in words: `14 of 15`, or that the server refuses tools."""
    return "refused by the server" if score.is_refused else f"{score.passed} of {score.tasks}"


def check_rows(check: ToolCheck) -> list[str]:
    """Return a check in phrases: the score of each way, the way in use, and the day."""
    scores = [f"{WAY_WORDS[way]} {score_words(score)}" for way, score in check.scores.items()]
    if check.template and check.way == "native":
        scores.append(f"with the template of {check.template.removeprefix('template of ')}")
    used = f"chats use {WAY_WORDS[check.way]}" if check.way else "no way works well enough"
    return [*scores, used, f"checked on {check.checked_at[:10]}"]


def tool_words(check: ToolCheck) -> str:
    """Return a check in two words for a list: `tools 93%`."""
    return f"tools {round(100 * check.best.share)}%"
