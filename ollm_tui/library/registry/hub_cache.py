"""What the hub said of repositories, kept for when it cannot be asked; blocks, for a thread."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.json_file import read_object, update_object
from ollm_tui.library.registry.known import HubFacts, newest
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MOST: Final = 2000
"""Repositories; those that the hub named longest ago go first."""
_LONGEST: Final = 300
_MOST_TAGS: Final = 40
_HIGHEST: Final = 10**18
_LATEST: Final = 1e11
"""Seconds since 1970, some thousand years on."""
_VERSION: Final = 1


def load_facts(path: Path) -> dict[str, HubFacts]:
    """Read what was kept, by repository in lower case; what is unreadable counts as nothing."""
    return newest(_facts(read_object(path)))


def keep_facts(path: Path, said: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Add what the hub has just said, and give all that is kept now.

    Raises:
        OSError: it cannot be written.
    """
    fresh = [_short(fact) for fact in said]

    def change(kept: JsonObject) -> JsonObject:
        return _as_json(_bounded([*_facts(kept), *fresh]))

    return newest(_facts(update_object(path, change)))


def bounded(facts: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Keep the newest of each repository, and of these no more than there is room for."""
    kept = _bounded([_short(fact) for fact in facts])
    return {fact.model.repo.casefold(): fact for fact in kept}


def _bounded(facts: Iterable[HubFacts]) -> list[HubFacts]:
    ordered = sorted(newest(facts).items(), key=lambda one: (-one[1].at, one[0]))
    return [fact for _, fact in ordered[:MOST]]


def _short(fact: HubFacts) -> HubFacts:
    """Cut what a hub has no reason to send so long."""
    model = fact.model
    return HubFacts(
        HubModel(
            repo=model.repo[:_LONGEST],
            downloads=_count(model.downloads),
            likes=_count(model.likes),
            modified_at=_cut(model.modified_at),
            licence=_cut(model.licence),
            gated=model.gated,
            tags=tuple(tag[:_LONGEST] for tag in model.tags[:_MOST_TAGS]),
            architecture=_cut(model.architecture),
            parameters=_count(model.parameters),
            context=_count(model.context),
        ),
        fact.at,
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_LONGEST]


def _as_json(facts: Iterable[HubFacts]) -> JsonObject:
    return {"version": _VERSION, "repos": [_one_as_json(fact) for fact in facts]}


def _one_as_json(fact: HubFacts) -> JsonObject:
    model = fact.model
    told: JsonObject = {
        "repo": model.repo,
        "at": fact.at,
        "downloads": model.downloads,
        "likes": model.likes,
        "modified_at": model.modified_at,
        "licence": model.licence,
        "gated": model.gated or None,
        "tags": list(model.tags) or None,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "context": model.context,
    }
    return {key: value for key, value in told.items() if value is not None}


def _facts(kept: JsonObject) -> list[HubFacts]:
    repos = kept.get("repos")
    told = repos if isinstance(repos, list) else []
    return [fact for one in told if isinstance(one, dict) and (fact := _one(one)) is not None]


def _one(told: JsonObject) -> HubFacts | None:
    repo, at = _text(told.get("repo")), told.get("at")
    if repo is None or not isinstance(at, int | float) or not 0 <= at <= _LATEST:
        return None
    tags = told.get("tags")
    model = HubModel(
        repo=repo,
        downloads=_count(told.get("downloads")),
        likes=_count(told.get("likes")),
        modified_at=_text(told.get("modified_at")),
        licence=_text(told.get("licence")),
        gated=told.get("gated") is True,
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        architecture=_text(told.get("architecture")),
        parameters=_count(told.get("parameters")),
        context=_count(told.get("context")),
    )
    return HubFacts(model, float(at))


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: JsonValue) -> int | None:
    """Give a count that can be one: a hub may send any number of digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _HIGHEST:
        return value
    return None
