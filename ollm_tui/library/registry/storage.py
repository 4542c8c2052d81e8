"""The files of the registry: ratings and uses, and facts of the hub.

Each is a small JSON file shared by several programs: written whole or not at all, by one writer at
a time. Everything here blocks: call it in a thread.
"""

import errno
import json
import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import open_lock, try_lock, write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.decode.json_fields import objects, present, string, strings
from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.known import HubFacts, Rating, Use, UserRecords, newest
from ollm_tui.protocol.json_types import JsonObject, JsonValue

logger = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 32 * 1024 * 1024
"""A larger file is not ours."""
_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.01
MAX_OPINIONS: Final = 2000
"""Limit of ratings and of uses; the oldest are dropped first."""
_VERSION: Final = 1
_MAX_USES: Final = 10**9
_LATEST: Final = 1e11
"""Seconds since 1970; in the year 5138."""
MAX_REPOS: Final = 2000
"""Limit of repositories; those the hub named longest ago are dropped first."""
_MAX_CHARS: Final = 300
_MAX_TAGS: Final = 40
_MAX_COUNT: Final = 10**18


def read_object(path: Path) -> JsonObject:
    """Read an object; a missing or damaged file counts as empty, the latter is logged."""
    try:
        return _parsed(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s is unreadable: %s", path.name, type(error).__name__)
        return {}


def update_object(path: Path, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Read, change and write a file while other programs are locked out; return what was written.

    A damaged file is set aside, so that nothing in it is lost.

    Raises:
        OSError: it cannot be written, or another program holds the lock for too long.
    """
    private_folder(path.parent)
    with _locked(path.with_name(f".{path.name}.lock")):
        try:
            kept = _parsed(path)
        except FileNotFoundError:
            kept = {}
        except (ValueError, RecursionError) as error:
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            reason = type(error).__name__
            logger.warning("%s was damaged (%s): now %s", path.name, reason, aside.name)
            kept = {}
        changed = change(kept)
        write_private(path, json.dumps(changed).encode())
        return changed


def _parsed(path: Path) -> JsonObject:
    value: object = json.loads(read_bounded(path, MAX_FILE_BYTES))
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 -- like any other damage
    return value


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = open_lock(path)
    ends = time.monotonic() + _TIMEOUT_S
    try:
        while not try_lock(descriptor):
            if time.monotonic() > ends:
                raise BlockingIOError(errno.EAGAIN, "another program is writing it")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def load_user_records(path: Path) -> UserRecords:
    """Read ratings and uses; unreadable entries are left out."""
    return _user_records(read_object(path))


def save_rating(
    path: Path, entry_id: str, stars: int | None, now: float, *, over: Collection[str] = ()
) -> UserRecords:
    """Store a rating, or remove it with None; it replaces the ratings of the ids in `over`.

    Raises:
        OSError: it cannot be written.
    """

    def change(kept: JsonObject) -> JsonObject:
        opinions = _user_records(kept)
        replaced = {entry_id, *over}
        ratings = {key: one for key, one in opinions.ratings.items() if key not in replaced}
        if stars is not None:
            ratings[entry_id] = Rating(stars, now)
        return _opinions_as_json(ratings, opinions.uses)

    return _user_records(update_object(path, change))


def save_use(path: Path, address: str, now: float) -> UserRecords:
    """Count one more chat with a model.

    Raises:
        OSError: it cannot be written.
    """

    def change(kept: JsonObject) -> JsonObject:
        opinions = _user_records(kept)
        known = opinions.uses.get(address, Use(0, now))
        used = Use(known.count + 1, max(now, known.last_at))
        return _opinions_as_json(opinions.ratings, {**opinions.uses, address: used})

    return _user_records(update_object(path, change))


def _opinions_as_json(ratings: Mapping[str, Rating], uses: Mapping[str, Use]) -> JsonObject:
    rated = sorted(ratings.items(), key=lambda one: -one[1].at)[:MAX_OPINIONS]
    used = sorted(uses.items(), key=lambda one: -one[1].last_at)[:MAX_OPINIONS]
    return {
        "version": _VERSION,
        "ratings": {key: {"stars": one.stars, "at": one.at} for key, one in rated},
        "uses": {key: {"count": one.count, "last_at": one.last_at} for key, one in used},
    }


def _user_records(kept: JsonObject) -> UserRecords:
    return UserRecords(
        ratings={
            key: Rating(stars, _time(record.get("at")))
            for key, record in _tables(kept.get("ratings"))
            if (stars := _count(record.get("stars"), 5))
        },
        uses={
            key: Use(count, _time(record.get("last_at")))
            for key, record in _tables(kept.get("uses"))
            if (count := _count(record.get("count"), _MAX_USES))
        },
    )


def _tables(value: JsonValue) -> list[tuple[str, JsonObject]]:
    pairs = value.items() if isinstance(value, dict) else ()
    return [(key, record) for key, record in pairs if key and isinstance(record, dict)]


def _count(value: JsonValue, highest: int) -> int | None:
    """Return a plausible count; else None: a hub may send any number of digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= highest:
        return value
    return None


def _time(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= _LATEST else 0.0


def load_facts(path: Path) -> dict[str, HubFacts]:
    """Read the stored facts, by repository in lower case; unreadable entries are left out."""
    return newest(_facts(read_object(path)))


def save_facts(path: Path, facts: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Add new facts of the hub, and return everything stored now.

    Raises:
        OSError: it cannot be written.
    """
    fresh = list(facts)

    def change(kept: JsonObject) -> JsonObject:
        known = bounded([*_facts(kept), *fresh]).values()
        return {"version": _VERSION, "repos": [_one_as_json(fact) for fact in known]}

    return newest(_facts(update_object(path, change)))


def bounded(facts: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Return the newest facts of each repository, at most MAX_REPOS, with long texts cut off."""
    ordered = sorted(newest(map(_short, facts)).items(), key=lambda one: (-one[1].at, one[0]))
    return dict(ordered[:MAX_REPOS])


def _short(fact: HubFacts) -> HubFacts:
    model = fact.model
    return HubFacts(
        replace(
            model,
            repo=model.repo[:_MAX_CHARS],
            downloads=_count(model.downloads, _MAX_COUNT),
            likes=_count(model.likes, _MAX_COUNT),
            modified_at=_cut(model.modified_at),
            licence=_cut(model.licence),
            tags=tuple(tag[:_MAX_CHARS] for tag in model.tags[:_MAX_TAGS]),
            architecture=_cut(model.architecture),
            parameters=_count(model.parameters, _MAX_COUNT),
            context=_count(model.context, _MAX_COUNT),
        ),
        fact.at,
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_MAX_CHARS]


def _one_as_json(fact: HubFacts) -> JsonObject:
    model = fact.model
    lists: JsonObject = {"gated": model.gated or None, "tags": list(model.tags) or None}
    return present({"repo": model.repo, "at": fact.at, **asdict(model), **lists})


def _facts(stored: JsonObject) -> list[HubFacts]:
    return [fact for one in objects(stored.get("repos")) if (fact := _one(one)) is not None]


def _one(record: JsonObject) -> HubFacts | None:
    repo, at = string(record, "repo"), record.get("at")
    if repo is None or not isinstance(at, int | float) or not 0 <= at <= _LATEST:
        return None
    model = HubModel(
        repo=repo,
        downloads=_count(record.get("downloads"), _MAX_COUNT),
        likes=_count(record.get("likes"), _MAX_COUNT),
        modified_at=string(record, "modified_at"),
        licence=string(record, "licence"),
        gated=record.get("gated") is True,
        tags=tuple(strings(record.get("tags"))),
        architecture=string(record, "architecture"),
        parameters=_count(record.get("parameters"), _MAX_COUNT),
        context=_count(record.get("context"), _MAX_COUNT),
    )
    return HubFacts(model, float(at))
