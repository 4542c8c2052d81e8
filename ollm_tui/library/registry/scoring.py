"""The order of a search: how well the words fit, then a score; pure.

The score of an entry is the sum of

    own rating        -2 to +2   stars less 3; 0 without a rating
    use                0 to 1.5  a quarter for each doubling of the number of chats
    last use           0 to 0.5  fades over a month
    skill             -1 to +1   for the given purpose, else the best one; 0 if unknown
    built-in list      0.5       for being on it
    downloads          0 to 1.2  0.2 for each power of ten, of the last month
    date               0 to 0.3  fades over a year

so that the user's own rating and use of a model outweigh those of others.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.matching import rank
from ollm_tui.library.registry.entry import RegistryEntry

_DAY_S = 86_400.0
_BEGINS_A_WORD, _SCATTERED = 2, 4


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """An entry with the texts it is searched by, in lower case."""

    entry: RegistryEntry
    titles: tuple[str, ...]
    """Its names: a match at the beginning counts more than one inside."""
    fields: tuple[str, ...]
    """Words that match from their beginning."""
    about: str
    """A sentence whose words match from their beginning."""
    haystack: str
    """All texts, for a quick first test."""

    @classmethod
    def of(cls, entry: RegistryEntry) -> "SearchEntry":
        """Prepare an entry for searching."""
        own = () if ":" in entry.id else (entry.id,)
        names = [entry.name, entry.name.rpartition("/")[2], *own, *entry.origins.values()]
        names += [ref.model for ref in entry.installed]
        titles = tuple(dict.fromkeys(title.casefold() for title in names if title))
        known = [entry.family, entry.licence, *sorted(entry.purposes)]
        known += [str(ref) for ref in entry.installed]
        fields = tuple(text.casefold() for text in known if text)
        about = (entry.description or "").casefold()
        return cls(entry, titles, fields, about, "\n".join((*titles, *fields, about)))

    def is_called(self, word: str) -> bool:
        """Whether a word in lower case is one of its names or addresses."""
        addresses = (str(ref).casefold() for ref in self.entry.installed)
        return word in self.titles or word in addresses or word == self.entry.id.casefold()


def search(
    entries: Iterable[SearchEntry],
    text: str = "",
    *,
    purpose: str | None = None,
    now: float = 0.0,
    limit: int | None = None,
) -> Sequence[RegistryEntry]:
    """Return the entries that match a text and a purpose, the best first.

    Every word must match. A word whose letters are only scattered over a name counts if nothing
    else matches.
    """
    candidates = [one for one in entries if purpose is None or purpose in one.entry.purposes]
    words = text.casefold().split()
    matches = [(fit, one.entry) for one in candidates if (fit := _fits(words, one)) is not None]
    if not matches and len(words) == 1:
        matches = [(_SCATTERED, one.entry) for one in candidates if _is_scattered(words[0], one)]

    def order(match: tuple[int, RegistryEntry]) -> tuple[int, float, str, str]:
        fit, entry = match
        return fit, -score(entry, purpose=purpose, now=now), entry.name.casefold(), entry.id

    return [entry for _, entry in sorted(matches, key=order)[:limit]]


def score(entry: RegistryEntry, *, purpose: str | None = None, now: float = 0.0) -> float:
    """Return the score of an entry, as described above."""
    total = 0.0 if entry.rating is None else float(entry.rating - 3)
    total += min(1.5, math.log2(1 + max(0, entry.uses)) / 4)
    if entry.last_used_at is not None:
        total += 0.5 * _freshness((now - entry.last_used_at) / _DAY_S, 30)
    # Being good for a small machine is no merit on another.
    skills = (stars for name, stars in entry.skills.items() if name != "small")
    skill = entry.skills.get(purpose) if purpose else max(skills, default=None)
    total += 0.0 if skill is None else (skill - 3) / 2
    total += 0.5 if entry.sources else 0.0
    total += min(1.2, math.log10(1 + max(0, entry.downloads or 0)) / 5)
    modified = _seconds(entry.modified_at)
    return total + (0.0 if modified is None else 0.3 * _freshness((now - modified) / _DAY_S, 365))


def _fit(word: str, searched: SearchEntry) -> int | None:
    """Return how well a word matches, the best at 0; of `rank` only the class counts."""
    best: int | None = None
    for title in searched.titles:
        ranked = rank(word, title) if word in title else None
        if ranked is not None and (best is None or ranked[0] < best):
            best = ranked[0]
        if best == 0:
            return best
    if any(field.startswith(word) for field in searched.fields):
        return 2 if best is None else min(best, 2)
    if best is None:
        about = rank(word, searched.about) if word in searched.about else None
        return _SCATTERED if about is not None and about[0] <= _BEGINS_A_WORD else None
    return best


def _fits(words: Sequence[str], searched: SearchEntry) -> int | None:
    """Return the sum over all words; None if one does not match."""
    total = 0
    for word in words:
        fit = _fit(word, searched) if word in searched.haystack else None
        if fit is None:
            return None
        total += fit
    return total


def _is_scattered(word: str, searched: SearchEntry) -> bool:
    return len(word) > 2 and any(rank(word, title) is not None for title in searched.titles)


def _freshness(age_days: float, fades_in: float) -> float:
    return math.exp(-max(0.0, age_days) / fades_in)


def _seconds(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text[:40]).timestamp() if text else None
    except (ValueError, OverflowError, OSError):
        return None
