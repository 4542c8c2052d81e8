"""LocalAI's lists of models, loaded models and install jobs; pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ollm_tui.decode.json_fields import as_object, number, objects, positive, string, strings
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.providers.openai_compatible.described import CHAT_FEATURES, TEXT

_CHATS = frozenset({"chat", "completion", "edit"})
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT]?)i?B")
_POWERS: Mapping[str, int] = MappingProxyType({"": 0, "K": 1, "M": 2, "G": 3, "T": 4})


def read_described(reply: JsonValue) -> list[ModelInfo] | None:
    """Read `/v1/models/capabilities`, without the models that do other things than chat.

    None when the server is older and has no such list.
    """
    entries = as_object(reply).get("data")
    if not isinstance(entries, list):
        return None
    found = []
    for entry in objects(entries):
        name, uses = string(entry, "id"), strings(entry.get("capabilities"))
        if name is None or (uses and not _CHATS.intersection(uses)):
            continue
        found.append(
            ModelInfo(
                name=name,
                capability=_capability(entry, uses) if uses else None,
                context=positive(entry, "context_size"),
            )
        )
    return found


def with_loaded(models: Sequence[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add what `/system` tells: which models are in memory; unknown where it does not answer."""
    loaded = as_object(reply).get("loaded_models")
    if not isinstance(loaded, list):
        return [*models]
    names = {string(entry, "id") for entry in objects(loaded)}
    return [replace(info, loaded=info.name in names) for info in models]


def read_gallery(reply: JsonValue) -> set[str]:
    """Give the names under which `/models/available` has models, with and without the gallery."""
    names = set()
    for entry in objects(reply):
        if name := string(entry, "name"):
            names.add(name)
            if gallery := string(as_object(entry.get("gallery")), "name"):
                names.add(f"{gallery}@{name}")
    return names


def read_job(reply: JsonValue, name: str) -> PullProgress:
    """Give how far a job of `/models/jobs` is; sizes come as text and are as rough as it."""
    job = as_object(reply)
    total, part = _size(job, "file_size"), number(job, "progress")
    completed = _size(job, "downloaded_size")
    if completed is None and total is not None and part is not None:
        completed = round(total * min(100.0, max(0.0, part)) / 100)
    status = string(job, "message") or "waiting"
    if job.get("processed") is True and total is not None:
        completed = total
    if total is None:
        return PullProgress(status=status)
    return PullProgress(status=status, digest=name, completed=completed, total=total)


def failure_of(reply: JsonValue) -> str | None:
    """Give why a job failed; None for one that did not. Older versions leave the error empty."""
    job = as_object(reply)
    if job.get("cancelled") is True:
        return "it was cancelled"
    error = job.get("error")
    if error is None or error == "":
        return None
    return error if isinstance(error, str) else string(job, "message") or "no reason was given"


def _capability(entry: JsonObject, uses: Sequence[str]) -> ModelCapability:
    inputs = {"image", "audio", "video"}.intersection(strings(entry.get("input_modalities")))
    inputs |= {"image"} if "vision" in uses else set()
    # Tools are parsed from the text of any model, so that nothing is known of a model's own.
    features = CHAT_FEATURES | {"tool_use", "json_mode", "thinking"}
    return ModelCapability(TEXT | inputs, TEXT, features)


def _size(job: JsonObject, key: str) -> int | None:
    found = _SIZE.fullmatch((string(job, key) or "").strip())
    return round(float(found[1]) * 1024 ** _POWERS[found[2]]) if found else None
