"""Entries from what a hub or an engine says, and the filling of gaps from one another."""

from dataclasses import replace

from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import HubFacts
from ollm_tui.library.registry.model_keys import active_parameters_in, parameters_in
from ollm_tui.library.registry.purposes import purposes_of_capability, purposes_of_tags
from ollm_tui.protocol.model import ModelInfo, ModelRef


def hub_entry(facts: HubFacts) -> RegistryEntry:
    """Give the entry of a repository of which only the hub tells."""
    model = facts.model
    return RegistryEntry(
        id=f"hf:{model.repo}",
        name=model.repo,
        family=model.architecture,
        parameters=model.parameters,
        active_parameters=active_parameters_in(model.repo),
        context=model.context,
        licence=model.licence,
        purposes=purposes_of_tags(model.tags),
        origins={"huggingface": model.repo},
        downloads=model.downloads,
        likes=model.likes,
        modified_at=model.modified_at,
        facts_at=facts.at,
    )


def installed_entry(ref: ModelRef, info: ModelInfo) -> RegistryEntry:
    """Give the entry of a model of which only an engine tells."""
    trained = info.details.get("context_trained")
    quantization, size = _text(info.details.get("quantization")), info.size_bytes
    return RegistryEntry(
        id=str(ref),
        name=info.name,
        family=_text(info.details.get("family")),
        description=info.description,
        parameters=parameters_in(info.details.get("parameter_size")),
        active_parameters=active_parameters_in(info.name),
        context=trained if isinstance(trained, int) and trained > 1 else None,
        purposes=purposes_of_capability(info.capability),
        sizes={quantization: size} if quantization and size is not None else {},
        installed=(ref,),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def filled(entry: RegistryEntry, other: RegistryEntry, *, same_files: bool) -> RegistryEntry:
    """Fill what is not known of a model from what else is said of it.

    What a hub counts and where a model can be had belong to its files: they are taken over only
    between descriptions of the same ones.
    """
    shared = replace(
        entry,
        family=entry.family or other.family,
        description=entry.description or other.description,
        parameters=entry.parameters if entry.parameters is not None else other.parameters,
        active_parameters=entry.active_parameters or other.active_parameters,
        context=entry.context if entry.context is not None else other.context,
        licence=entry.licence or other.licence,
        purposes=entry.purposes or other.purposes,
        skills=entry.skills or other.skills,
        sources=entry.sources or other.sources,
    )
    if not same_files:
        return shared
    return replace(
        shared,
        sizes={**other.sizes, **entry.sizes},
        origins={**other.origins, **entry.origins},
        downloads=entry.downloads if entry.downloads is not None else other.downloads,
        likes=entry.likes if entry.likes is not None else other.likes,
        modified_at=entry.modified_at or other.modified_at,
        facts_at=entry.facts_at if entry.facts_at is not None else other.facts_at,
    )
