"""Ratings and uses between runs; every function here blocks and belongs into a thread."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ollm_tui.library.registry.json_file import read_object, update_object
from ollm_tui.library.registry.known import Opinions, Rating, Use
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MOST: Final = 2000
"""Ratings, and models used; those that were longest not touched go first."""
_VERSION: Final = 1
_HIGHEST: Final = 10**9
_LATEST: Final = 1e11
"""Seconds since 1970, some thousand years on."""


def load_opinions(path: Path) -> Opinions:
    """Read what the person said and did; what is unreadable counts as nothing."""
    return _opinions(read_object(path))


def keep_rating(
    path: Path, entry_id: str, stars: int | None, now: float, *, over: Collection[str] = ()
) -> Opinions:
    """Keep a rating, or take it back with None; it takes the place of those in `over`.

    Raises:
        OSError: it cannot be written.
    """

    def change(kept: JsonObject) -> JsonObject:
        said = _opinions(kept)
        gone = {entry_id, *over}
        ratings = {key: one for key, one in said.ratings.items() if key not in gone}
        if stars is not None:
            ratings[entry_id] = Rating(stars, now)
        return _as_json(ratings, said.uses)

    return _opinions(update_object(path, change))


def keep_use(path: Path, address: str, now: float) -> Opinions:
    """Count one chat more with a model.

    Raises:
        OSError: it cannot be written.
    """

    def change(kept: JsonObject) -> JsonObject:
        said = _opinions(kept)
        known = said.uses.get(address, Use(0, now))
        used = Use(known.count + 1, max(now, known.last_at))
        return _as_json(said.ratings, {**said.uses, address: used})

    return _opinions(update_object(path, change))


def _as_json(ratings: Mapping[str, Rating], uses: Mapping[str, Use]) -> JsonObject:
    rated = sorted(ratings.items(), key=lambda one: -one[1].at)[:MOST]
    used = sorted(uses.items(), key=lambda one: -one[1].last_at)[:MOST]
    return {
        "version": _VERSION,
        "ratings": {key: {"stars": one.stars, "at": one.at} for key, one in rated},
        "uses": {key: {"count": one.count, "last_at": one.last_at} for key, one in used},
    }


def _opinions(kept: JsonObject) -> Opinions:
    return Opinions(
        ratings={
            key: Rating(stars, _time(told.get("at")))
            for key, told in _tables(kept.get("ratings"))
            if 1 <= (stars := _count(told.get("stars"))) <= 5
        },
        uses={
            key: Use(count, _time(told.get("last_at")))
            for key, told in _tables(kept.get("uses"))
            if (count := _count(told.get("count"))) > 0
        },
    )


def _tables(value: JsonValue) -> list[tuple[str, JsonObject]]:
    pairs = value.items() if isinstance(value, dict) else ()
    return [(key, told) for key, told in pairs if key and isinstance(told, dict)]


def _count(value: JsonValue) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _HIGHEST:
        return value
    return 0


def _time(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= _LATEST else 0.0
