"""Models that do not chat, by how files and servers name them: the table `kinds.yaml`."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from ollm_tui.config.yaml_file import read_yaml
from ollm_tui.dataclass import dataclass

MAX_NAME_LENGTH: Final = 200
"""Characters of a name that are searched."""
_FILE: Final = Path(__file__).parent / "kinds.yaml"
_NOTHING: Final = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """How models of one kind are named."""

    architectures: frozenset[str]
    encoders: re.Pattern[str]
    titles: re.Pattern[str]
    names: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTable:
    """All kinds by name, in the order in which they are searched."""

    kinds: Mapping[str, ModelKind]
    without_cache: re.Pattern[str]
    not_chat_at_openai: re.Pattern[str]

    def of_architecture(self, architecture: str) -> str | None:
        """Return the kind with this architecture."""
        return next((k for k, it in self.kinds.items() if architecture in it.architectures), None)

    def of_title(self, title: str) -> str | None:
        """Return the kind that the title of a model file tells."""
        short = title[:MAX_NAME_LENGTH]
        return next((k for k, it in self.kinds.items() if it.titles.search(short)), None)

    def of_encoder(self, architecture: str) -> str | None:
        """Return the kind of a model that reads a text and writes none."""
        return next((k for k, it in self.kinds.items() if it.encoders.search(architecture)), None)

    def kind_named(self, name: str) -> str | None:
        """Return the kind that a server's name for a model tells."""
        return next((kind for kind in self.kinds if self.is_named(name, kind)), None)

    def is_named(self, name: str, kind: str) -> bool:
        """Whether a server's name for a model tells this kind."""
        return self.kinds[kind].names.search(name[:MAX_NAME_LENGTH]) is not None


@cache
def kind_table() -> KindTable:
    """Return the table, which is read once; a few milliseconds."""
    values: Any = read_yaml(_FILE).values
    return KindTable(
        kinds={name: _kind(one) for name, one in values["kinds"].items()},
        without_cache=_pattern(values["withoutCache"]),
        not_chat_at_openai=_pattern(values["notChatAtOpenai"]),
    )


def _kind(values: Mapping[str, Any]) -> ModelKind:
    return ModelKind(
        architectures=frozenset(values.get("architectures", ())),
        encoders=_pattern(values.get("encoders")),
        titles=_pattern(values.get("titles")),
        names=_pattern(values.get("names")),
    )


def _pattern(text: str | None) -> re.Pattern[str]:
    return re.compile(text or _NOTHING, re.IGNORECASE)
