"""Choices remembered between runs that are not settings: models used, and how they call tools."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, strings
from ollm_tui.models.tool_check import ToolCheck, ToolWay, tool_check_from

RECENT_LIMIT = 12
MODES_LIMIT = 200
MAX_BYTES = 1024 * 1024
"""Bytes; a longer file is not ours."""
Value = TypeVar("Value")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """Remembered choices, newest first."""

    recent_models: tuple[str, ...] = ()
    tool_modes: tuple[tuple[str, str], ...] = ()
    """Models whose servers refused native tools: address and mode."""
    tool_checks: tuple[tuple[str, ToolCheck], ...] = ()
    """What was checked of models: address and result."""

    @property
    def last_model(self) -> str | None:
        """The model used last; None on a first run."""
        return self.recent_models[0] if self.recent_models else None

    def with_model(self, address: str) -> "Choices":
        """Put a model in front."""
        others = [known for known in self.recent_models if known != address]
        return replace(self, recent_models=(address, *others)[:RECENT_LIMIT])

    def with_tool_mode(self, address: str, mode: str) -> "Choices":
        """Keep how a model is given its tools."""
        modes = ((address, mode), *_without(self.tool_modes, address))[:MODES_LIMIT]
        return replace(self, tool_modes=modes, tool_checks=_without(self.tool_checks, address))

    def with_tool_check(self, address: str, check: ToolCheck) -> "Choices":
        """Keep how well a model calls tools."""
        checks = ((address, check), *_without(self.tool_checks, address))[:MODES_LIMIT]
        return replace(self, tool_checks=checks, tool_modes=_without(self.tool_modes, address))

    def learned_ways(self) -> dict[str, ToolWay]:
        """Return how models are given their tools: as a check has it, else as servers want it."""
        refused: dict[str, ToolWay] = {
            name: "react" for name, mode in self.tool_modes if mode == "react"
        }
        return refused | {name: check.way for name, check in self.tool_checks if check.way}


def _without(known: tuple[tuple[str, Value], ...], address: str) -> tuple[tuple[str, Value], ...]:
    return tuple(one for one in known if one[0] != address)


class ChoicesFile:
    """The choices in their file, which other programs of the user may change meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.choices = load_choices(path)

    def remember_model(self, address: str) -> None:
        """Put a model first among the recent ones."""
        self.change(lambda choices: choices.with_model(address))

    def remember_tool_mode(self, address: str, mode: str) -> None:
        """Keep how the server of a model wants its tools."""
        try:
            self.change(lambda choices: choices.with_tool_mode(address, mode))
        except OSError as error:
            logger.warning("How a model takes tools could not be kept: %s", error)

    def remember_tool_check(self, address: str, check: ToolCheck) -> None:
        """Keep how well a model calls tools.

        Raises:
            OSError: it cannot be written.
        """
        self.change(lambda choices: choices.with_tool_check(address, check))

    def tool_check(self, address: str) -> ToolCheck | None:
        """Return what was checked of a model; None if nothing was."""
        return dict(self.choices.tool_checks).get(address)

    def change(self, change: Callable[[Choices], Choices]) -> None:
        """Write the choices with a change."""
        kept = load_choices(self._path)
        self.choices = change(kept if kept.recent_models or kept.tool_checks else self.choices)
        save_choices(self._path, self.choices)


def load_choices(path: Path) -> Choices:
    """Read choices; a file that is missing or unreadable counts as none."""
    try:
        kept = as_object(json.loads(read_bounded(path, MAX_BYTES)))
    except FileNotFoundError:
        return Choices()
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("Remembered choices are unreadable: %s", type(error).__name__)
        return Choices()
    modes = as_object(kept.get("tool_modes")).items()
    checked = as_object(kept.get("tool_checks")).items()
    checks = [(name, tool_check_from(value)) for name, value in checked]
    recent = [address for address in strings(kept.get("recent_models")) if address]
    return Choices(
        tuple(recent[:RECENT_LIMIT]),
        tuple((name, mode) for name, mode in modes if isinstance(mode, str))[:MODES_LIMIT],
        tuple((name, check) for name, check in checks if check is not None)[:MODES_LIMIT],
    )


def save_choices(path: Path, choices: Choices) -> None:
    """Write choices whole or not at all, for this user only."""
    kept = {
        "recent_models": list(choices.recent_models),
        "tool_modes": dict(choices.tool_modes),
        "tool_checks": {name: check.to_json() for name, check in choices.tool_checks},
    }
    write_private(path, json.dumps(kept).encode(), lasting=False)
