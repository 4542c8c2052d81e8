"""Choices remembered between runs that are not settings: models used, and their tool modes."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.decode.json_fields import as_object, strings

RECENT_LIMIT = 12
MODES_LIMIT = 200
LARGEST = 1024 * 1024
"""Bytes; a longer file is not ours."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """Remembered choices, newest first."""

    recent_models: tuple[str, ...] = ()
    tool_modes: tuple[tuple[str, str], ...] = ()
    """Models whose servers refused native tools: address and mode."""

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
        others = [known for known in self.tool_modes if known[0] != address]
        return replace(self, tool_modes=((address, mode), *others)[:MODES_LIMIT])


def load_choices(path: Path) -> Choices:
    """Read choices; a file that is missing or unreadable counts as none."""
    try:
        kept = as_object(json.loads(read_bounded(path, LARGEST)))
    except FileNotFoundError:
        return Choices()
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("Remembered choices are unreadable: %s", type(error).__name__)
        return Choices()
    modes = as_object(kept.get("tool_modes")).items()
    recent = [address for address in strings(kept.get("recent_models")) if address]
    return Choices(
        tuple(recent[:RECENT_LIMIT]),
        tuple((name, mode) for name, mode in modes if isinstance(mode, str))[:MODES_LIMIT],
    )


def save_choices(path: Path, choices: Choices) -> None:
    """Write choices whole or not at all, for this user only."""
    kept = {"recent_models": list(choices.recent_models), "tool_modes": dict(choices.tool_modes)}
    write_private(path, json.dumps(kept).encode(), lasting=False)
