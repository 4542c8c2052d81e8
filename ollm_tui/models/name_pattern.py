"""Patterns for the names of models, as `modelPattern` of a family has them.

A pattern is `!re /…/flags` or a text with `*` and `?`. Names are cut to `MAX_NAME_LENGTH`.
The patterns of files that did not come with the app are matched under a time limit, so that none
can freeze it.
"""

import fnmatch
import re
from typing import Any, Final

from ollm_tui.config.yaml_file import PatternText
from ollm_tui.decode.repeats import MAX_REPEATS, repeats_of
from ollm_tui.lazy import lazy_re

MAX_NAME_LENGTH: Final = 200
MAX_PATTERN_LENGTH: Final = 500
LIMIT_S: Final = 0.05
"""How long one pattern of a file that is not built in may search one name."""
_WRITTEN: Final = lazy_re(r"/(.*)/([a-z]*)", re.DOTALL)
_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "g": 0, "u": 0, "y": 0}
_MODEL_FILE: Final = lazy_re(r"\.(?:gguf|safetensors|bin)$", re.IGNORECASE)
_SEPARATORS: Final = lazy_re(r"[\s:@]+")


def plain_name(name: str) -> str:
    """Return what patterns are searched in: without folders, owner and extension, tag after `-`.

    `hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M` is `Qwen3-8B-GGUF-Q4_K_M`, `qwen3:8b` is `qwen3-8b`.
    """
    last = name.strip().rstrip("/").rpartition("/")[2]
    return _SEPARATORS.sub("-", _MODEL_FILE.sub("", last))[:MAX_NAME_LENGTH]


class BadPatternError(ValueError):
    """A pattern cannot be used; its text completes "`key` ..."."""


class SlowPatternError(ValueError):
    """A pattern needs too long for a name."""


class NamePattern:
    """One pattern, compiled when it is first used or when it is checked.

    Raises:
        BadPatternError: it is too long, has unknown flags, or is not `/pattern/flags`.
    """

    def __init__(self, written: PatternText | str, *, is_built_in: bool) -> None:
        self._is_built_in = is_built_in
        if isinstance(written, str):
            self.text, self._flags = fnmatch.translate(written), int(re.IGNORECASE)
        else:
            self.text, self._flags = _parts(written.text)
        if len(self.text) > MAX_PATTERN_LENGTH:
            raise BadPatternError(f"is longer than {MAX_PATTERN_LENGTH} characters")
        self._compiled: Any = None

    def check(self) -> None:
        """Compile it now.

        Raises:
            BadPatternError: it is not a valid pattern.
        """
        if self._compiled is None:
            self._compiled = self._compile()

    def is_in(self, name: str) -> bool:
        """Whether it is found in a plain name.

        Raises:
            BadPatternError: it is not a valid pattern.
            SlowPatternError: it takes longer than `LIMIT_S`.
        """
        self.check()
        if self._is_built_in:
            return self._compiled.search(name) is not None
        try:
            return self._compiled.search(name, timeout=LIMIT_S, concurrent=True) is not None
        except TimeoutError:
            raise SlowPatternError(f"takes over {LIMIT_S:g} s for one name") from None

    def _compile(self) -> Any:
        if self._is_built_in:  # checked by the tests, and quicker to compile
            return re.compile(self.text, self._flags)
        # Costs 20 ms, and few people have family files of their own.
        import regex

        if repeats_of(self.text) > MAX_REPEATS:
            raise BadPatternError("repeats too often; use smaller counts in {}")
        try:
            return regex.compile(self.text, self._flags | regex.VERSION0)
        except (regex.error, OverflowError, RecursionError) as error:
            raise BadPatternError(f"is not a valid pattern: {error}") from None


def _parts(written: str) -> tuple[str, int]:
    parts = _WRITTEN.fullmatch(written.strip())
    if parts is None:
        raise BadPatternError("must be written as !re /pattern/flags")
    unknown = "".join(sorted({flag for flag in parts[2] if flag not in _FLAGS}))
    if unknown:
        raise BadPatternError(f"has unknown flags: {unknown}. Use i, m or s")
    flags = 0
    for flag in parts[2]:
        flags |= _FLAGS[flag]
    return parts[1], flags
