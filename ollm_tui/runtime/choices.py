"""What the program remembers between runs that is no setting: the models used last."""

import json
import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ollm_tui.config.paths import private_folder

RECENT_LIMIT = 12
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """Remembered choices, newest first."""

    recent_models: tuple[str, ...] = ()

    @property
    def last_model(self) -> str | None:
        """The model used last; None on a first run."""
        return self.recent_models[0] if self.recent_models else None

    def with_model(self, address: str) -> "Choices":
        """Put a model in front."""
        others = [known for known in self.recent_models if known != address]
        return Choices((address, *others)[:RECENT_LIMIT])


def load_choices(path: Path) -> Choices:
    """Read choices; a file that is missing or unreadable counts as none."""
    try:
        data: object = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Choices()
    except (OSError, ValueError) as error:
        logger.warning("Remembered choices are unreadable: %s", type(error).__name__)
        return Choices()
    models = data.get("recent_models") if isinstance(data, dict) else None
    return Choices(_strings(models)[:RECENT_LIMIT])


def save_choices(path: Path, choices: Choices) -> None:
    """Write choices whole or not at all, for this user only."""
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"recent_models": list(choices.recent_models)}, file)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(item for item in value if isinstance(item, str) and item)
