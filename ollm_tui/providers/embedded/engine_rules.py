"""Which engine runs a model of this machine: by the kind of its file, and rules for its name.

Specification: 05, "Local Provider Routing" and "Model Name Rules".
"""

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.models.name_pattern import plain_name
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.embedded.plan import LLAMA_CPP

WHISPER_CPP, PIPER, ESPEAK = "whisper.cpp", "piper", "espeak-ng"
STABLE_DIFFUSION_CPP: Final = "stable-diffusion.cpp"
ModelNameRule: TypeAlias = str | re.Pattern[str] | Callable[[str], bool]
"""A name or a text with `*`, `?` and `[…]`, a pattern that is searched, or a predicate."""


def matches(rule: ModelNameRule, name: str) -> bool:
    """Return whether a rule is about a model, by its name without folders, owner and suffix.

    Texts do not distinguish upper and lower case; patterns and predicates decide themselves.
    """
    plain = plain_name(name)
    if isinstance(rule, str):
        return fnmatch.fnmatchcase(plain.casefold(), plain_name(rule).casefold())
    if isinstance(rule, re.Pattern):
        return rule.search(plain) is not None
    return rule(plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRule:
    """An engine, and which models it runs."""

    engine: str
    kinds: frozenset[str]
    """The kinds of files that it reads, as `details["kind"]` names them."""
    rule: ModelNameRule = "*"


RULES: Final = (
    EngineRule(engine=WHISPER_CPP, kinds=frozenset({"whisper"})),
    EngineRule(engine=ESPEAK, kinds=frozenset({"voice"}), rule=ESPEAK),
    EngineRule(engine=PIPER, kinds=frozenset({"voice"})),
    EngineRule(engine=STABLE_DIFFUSION_CPP, kinds=frozenset({"image"})),
    EngineRule(engine=LLAMA_CPP, kinds=frozenset({"chat", "embedding"})),
)
"""In this order; the first one that is about a model counts."""


def engine_for(
    name: str, kind: str, wanted: str | None = None, rules: Iterable[EngineRule] = RULES
) -> str | None:
    """Return the engine of a model; None if none runs it.

    `wanted` is the engine that the settings beside its file name.

    Raises:
        AIError: UNSUPPORTED_FEATURE if that engine does not run such a model.
    """
    able = [one.engine for one in rules if kind in one.kinds and matches(one.rule, name)]
    if wanted is None or wanted in able:
        return wanted or next(iter(able), None)
    raise AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"The engine {wanted[:40]} does not run {name}.",
        hint=f"Set `engine` beside its file to {' or '.join(able)}, or remove it."
        if able
        else "Remove `engine` from the settings beside its file.",
    )
