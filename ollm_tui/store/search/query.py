"""What was typed into a search, understood: any text is a valid search."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.store.search.words import Term, words_of

MAX_LENGTH: Final = 1000
"""Characters of a search; the rest is ignored."""
MAX_TERMS: Final = 32
MIN_TYPED_LENGTH: Final = 2
"""Letters from which on a word that is still being typed is taken as the beginning of one."""
ROLES: Final = ("user", "assistant", "system", "tool")
_PART: Final = lazy_re(
    r'(?P<key>role|model|tag|before|after):(?:"(?P<quoted>[^"]*)"?|(?P<value>\S*))'
    r'|"(?P<phrase>[^"]*)"?(?P<star>\*?)|(?P<word>[^\s"]+)',
    re.IGNORECASE,
)
_FACTS: Final = ("role", "model", "tag", "after", "before")
_DATE: Final = lazy_re(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Terms that a message must all have, and facts that must be true of it."""

    terms: tuple[Term, ...] = ()
    roles: tuple[str, ...] = ()
    """Any of them; all roles if empty."""
    models: tuple[str, ...] = ()
    """Parts of a model's name, in lower case, which the name must all have."""
    tags: tuple[str, ...] = ()
    """Tags that the chat must all have."""
    chats: tuple[int, ...] | None = None
    """Numbers of the chats that have the tags, once they are looked up."""
    after_ms: int | None = None
    before_ms: int | None = None
    plain: str = ""
    """The words as they were typed, without what chooses messages."""
    notes: tuple[str, ...] = ()
    """Sentences about parts that are ignored."""

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return not self.terms and self.is_plain

    @property
    def is_plain(self) -> bool:
        """Whether it only has terms."""
        has_times = self.after_ms is not None or self.before_ms is not None
        return not (self.roles or self.models or self.tags or has_times)


def parse_query(text: str, *, is_typing: bool = False, zone: tzinfo | None = None) -> SearchQuery:
    """Understand a search.

    Words must all occur, `"several words"` in this order, and `begin*` is the beginning of a word.
    `role:`, `model:`, `tag:`, `after:` and `before:` choose messages; a date is a year, month or
    day.
    While the text is being typed, its last word may be the beginning of one.
    """
    text = text[:MAX_LENGTH]
    terms: list[Term] = []
    plain: list[str] = []
    facts: dict[str, list[str]] = {name: [] for name in _FACTS}
    for match in _PART.finditer(text):
        if match["key"]:
            value = (match["quoted"] or match["value"] or "").casefold()
            facts[match["key"].casefold()] += [value] if value else []
            continue
        word, phrase = match["word"], match["phrase"]
        plain.append(word if phrase is None else phrase)
        words = tuple(words_of(word if phrase is None else phrase))
        is_last = is_typing and phrase is None and match.end() == len(text)
        is_prefix = (word or "").endswith("*") or bool(match["star"])
        if words and words not in [term.words for term in terms if not term.is_prefix]:
            is_begun = is_last and len(words[-1]) >= MIN_TYPED_LENGTH
            terms.append(Term(words[:MAX_TERMS], is_prefix or is_begun))
    return replace(_with_facts(terms, facts, zone), plain=" ".join(plain).strip())


def _with_facts(
    terms: Sequence[Term], facts: dict[str, list[str]], zone: tzinfo | None
) -> SearchQuery:
    notes = []
    roles: list[str] = []
    for value in facts["role"]:
        known = [role for role in ROLES if role.startswith(value)]
        roles += known or ([value] if terms else [])  # which no message has
        if not known:
            notes.append(f"No role {value[:40]!r}. Available: {', '.join(ROLES)}.")
    times: dict[str, list[int]] = {"after": [], "before": []}
    for key, moments in times.items():
        for value in facts[key]:
            moment = _start_of(value, zone)
            if moment is None:
                notes.append(f"{key}:{value[:40]} is not a date. Write it as {key}:2026-03-31.")
            else:
                moments.append(moment)
    return SearchQuery(
        terms=tuple(terms[:MAX_TERMS]),
        roles=tuple(dict.fromkeys(roles)),
        models=tuple(facts["model"]),
        tags=tuple(dict.fromkeys(tag.removeprefix("#") for tag in facts["tag"])),
        after_ms=max(times["after"], default=None),
        before_ms=min(times["before"], default=None),
        notes=tuple(notes),
    )


def _start_of(date: str, zone: tzinfo | None) -> int | None:
    """Return when a year, month or day begins, in milliseconds since 1970."""
    match = _DATE.fullmatch(date)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return int(datetime(year, month, day, tzinfo=zone).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
