"""What families and the settings beside a model file change about how a model is loaded.

A family says how models like this one are loaded. The settings beside a file also say what the
model can do, its window and its chat template: a family's are for many files, whose own are better.
A family's template counts for a file that has none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.config.engine_settings import FILES_BESIDE, ModelEngineSettings
from ollm_tui.config.regular_file import real_path
from ollm_tui.decode.json_fields import as_object, strings
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.models.capabilities import ModelOverrides
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.sections.reading import read_section

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import KnownValue, ModelKnowledge

_SET_BY_ENGINES: Final = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


def engine_settings(known: "ModelKnowledge") -> ModelEngineSettings:
    """Return how family and sidecar load a model, with whole paths; blocks.

    Raises:
        AIError: a file that the sidecar names is a link to another folder.
    """
    names = ModelEngineSettings.declared()
    values: dict[str, Any] = {one.name: one.value for one in known.engine if one.name in names}
    for name in FILES_BESIDE & values.keys():
        value = values[name]
        several = value if isinstance(value, list) else [value]
        paths = [
            _file_beside(known.sidecar or Path(), f"engineOptions.{name}", one) for one in several
        ]
        values[name] = paths if isinstance(value, list) else paths[0]
    return read_section(ModelEngineSettings, values)


def job_options(known: "ModelKnowledge") -> JsonObject:
    """Return the engine options of a model that hears, speaks or draws."""
    return {one.name: one.value for one in known.engine if one.name not in FILES_BESIDE}


def own_engine(known: "ModelKnowledge") -> str | None:
    """Return the engine that family or sidecar name for a model."""
    named = (one for one in known.facts if one.name == "engine")
    value = next(named, None)
    return str(value.value) if value is not None else None


def own_model_path(known: "ModelKnowledge") -> Path | None:
    """Return the file that the sidecar names in place of the model's own; blocks.

    Raises:
        AIError: it is a link to another folder.
    """
    value = _own(known, "modelPath")
    if value is None or known.sidecar is None:
        return None
    return _file_beside(known.sidecar, "modelPath", str(value.value))


def _file_beside(sidecar: Path, key: str, name: str) -> Path:
    """Return the path of a file in the folder of the sidecar, without links."""
    path = real_path(sidecar.parent / name)
    if not path.is_relative_to(real_path(sidecar.parent)):
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"`{key}` of {sidecar.name} names a link to another folder: {name}.",
            hint="Name a file in the folder of the model, or set it in the settings.",
        )
    return path


def loading_values(known: "ModelKnowledge") -> "Iterator[KnownValue]":
    """Yield what loads the model, by the names of the settings: options, window and template."""
    yield from known.engine
    if (window := _own(known, "context")) is not None:
        yield replace(window, name="num_ctx", beneath=())
    if (template := _own(known, "template")) is not None:
        length = f"a text of {len(str(template.value)):,} characters"
        yield replace(template, name="chat_template", value=length, beneath=())


def own_window(known: "ModelKnowledge") -> int | None:
    """Return the window that the sidecar asks for, in tokens."""
    value = _own(known, "context")
    return value.value if value is not None and isinstance(value.value, int) else None


def own_format(known: "ModelKnowledge") -> str | None:
    """Return the language of templates that the sidecar names: `hf`, `jinja2` or `golang`."""
    value = _own(known, "templateFormat")
    return str(value.value) if value is not None else None


def own_template(known: "ModelKnowledge") -> str | None:
    """Return the chat template that the sidecar holds, with the variables of `prompt` set."""
    value = _own(known, "template")
    return _with_variables(known, str(value.value)) if value is not None else None


def family_template(known: "ModelKnowledge") -> "KnownValue | None":
    """Return the chat template of the family with its origin, for a model file without one.

    Only templates in jinja count, with the variables of `prompt` set.
    """
    values = (one for one in known.facts if one.name == "template")
    value = next((one for one in values if one.layer == "family" and one.value), None)
    if value is None or known.template_format == "golang":
        return None
    return replace(value, value=_with_variables(known, str(value.value)), beneath=())


def _with_variables(known: "ModelKnowledge", template: str) -> str:
    return "".join((*_assignments(known, template), template))


def _assignments(known: "ModelKnowledge", template: str) -> Iterator[str]:
    """Yield a statement for each variable that a template mentions."""
    for name, text in known.prompt.items():
        is_name = name.isascii() and name.isidentifier() and name not in _SET_BY_ENGINES
        if is_name and re.search(rf"\b{name}\b", template):
            yield f"{{%- set {name} = {dump_json(text)} %}}"


def own_abilities(known: "ModelKnowledge") -> ModelOverrides:
    """Return what the sidecar says of a model's abilities; None for those that it leaves open.

    `capability` says all of it. `supports` names what the model has, and leaves the rest open.
    """
    stated = _own(known, "capability")
    if stated is not None:
        value = as_object(stated.value)
        features = strings(value.get("features"))
        return ModelOverrides(
            vision="image" in strings(value.get("input")),
            tools="tool_use" in features,
            thinking="thinking" in features,
        )
    supports = _own(known, "supports")
    entries = supports.value if supports is not None else None
    return _supported(entries if isinstance(entries, list) else [])


def _supported(entries: Sequence[JsonValue]) -> ModelOverrides:
    modes = [strings(as_object(one).get("thinkMode")) for one in entries if isinstance(one, dict)]
    return ModelOverrides(
        vision=True if "vision" in entries else None,
        tools=True if "tools" in entries or "parallelTools" in entries else None,
        thinking=bool({*modes[0]} - {"off"}) if modes else None,
    )


def _own(known: "ModelKnowledge", name: str) -> "KnownValue | None":
    """Return what the sidecar says itself of a key that counts as a whole."""
    values = (one for one in known.facts if one.name == name and one.layer == "sidecar")
    return next(values, None)
