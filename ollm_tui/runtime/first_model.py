"""Which model a new chat uses if none was chosen.

The last one, else the starter, else a loaded one, else the smallest. No service is asked.
"""

from collections.abc import Collection, Mapping, Sequence

from ollm_tui.config.named import Named
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef, matches_alias
from ollm_tui.providers.catalog import CatalogEntry, Listing
from ollm_tui.providers.router import EMBEDDED

STARTER_REASON = "the starter model that comes with ollm"
START_SERVER = (
    "For better models start Ollama (ollama.com), LM Studio, llama.cpp or another server, "
    "or put GGUF files into the folder that `ollm config path --of models` prints."
)
FETCH_STARTER = "`ollm models starter` downloads a small model to start with."
ADD_ENGINE = (
    "`pip install xllamacpp` in ollm's environment adds an engine that runs models without a "
    "server, and `ollm models starter` a small model for it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstModel:
    """The choice, and what a first screen can say about it."""

    ref: ModelRef | None
    reason: str
    """Why this one, to go after its name: `used last`, `already loaded`, ...; or a sentence, why
    the named one cannot be used."""
    with_models: tuple[str, ...] = ()
    """Labels of the providers that answered with models to chat with."""
    silent: tuple[str, ...] = ()
    """Labels and ports of the providers that should answer and do not.

    Servers that are neither configured nor running are left out; the doctor lists them.
    """
    engine_installed: bool = True
    problem: AIError | None = None
    """Why the named model or provider cannot be used; then there is no model."""
    is_reported: bool = False
    """Whether the problem is shown with those of the settings at the start."""
    passed_over: ModelRef | None = None
    """The model used last, where another provider was named, which counts more."""

    @property
    def advice(self) -> str | None:
        """How to get a model, or a better one; None when a server's model was found."""
        if self.problem is not None:
            return self.problem.hint
        if self.ref is None and self.engine_installed:
            return f"{FETCH_STARTER} {START_SERVER}"
        if self.ref is None:
            return f"{START_SERVER} {ADD_ENGINE}"
        return START_SERVER if self.ref.provider == EMBEDDED else None

    def required(self) -> ModelRef:
        """Return the model, or raise the `AIError` that tells why there is none."""
        if self.problem is not None:
            raise self.problem
        if self.ref is None:
            silent = f" No answer from: {', '.join(self.silent)}." if self.silent else ""
            raise AIError(ErrorCode.MODEL_NOT_FOUND, f"No models found.{silent}", hint=self.advice)
        return self.ref


def choose_first(
    listings: Sequence[Listing],
    *,
    last: str | None,
    starter: ModelRef | None,
    unasked: Collection[str] = (),
    engine_installed: bool = True,
    ports: Mapping[str, int] | None = None,
) -> FirstModel:
    """Choose from the listings; `ports` holds the port of each provider.

    The model used last is taken without a listing if it is of one of the `unasked` providers.
    """
    ports = ports or {}
    candidates = [listing for listing in listings if listing.provider not in unasked]
    entries = [
        CatalogEntry(ModelRef(listing.provider, info.name), info)
        for listing in candidates
        for info in listing.models
        if can_chat(info)
    ]
    ref, reason = _pick(entries, last, starter)
    used = ModelRef.parse(last) if last else None
    if used is not None and used.provider in unasked:
        ref, reason = used, "used last"
    return FirstModel(
        ref=ref,
        reason=reason,
        with_models=tuple(
            listing.label
            for listing in candidates
            if any(can_chat(info) for info in listing.models)
        ),
        engine_installed=engine_installed,
        silent=tuple(_with_port(listing, ports) for listing in candidates if listing.problem),
    )


def without_model(problem: AIError, silent: tuple[str, ...] = ()) -> FirstModel:
    """Return a choice without a model, because the named one cannot be used."""
    why = f"{problem.message.rstrip('.')}."
    return FirstModel(ref=None, reason=why, problem=problem, silent=silent)


def silent_labels(listings: Sequence[Listing], ports: Mapping[str, int]) -> tuple[str, ...]:
    """Return the labels and ports of the providers that do not answer."""
    codes = (ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT)
    return tuple(
        _with_port(one, ports)
        for one in listings
        if one.absent or (one.problem is not None and one.problem.code in codes)
    )


def problem_of(listings: Sequence[Listing], named: Named) -> AIError | None:
    """Return why the named providers offer no model to chat with; all of them must answer."""
    silent = next((listing for listing in listings if not listing.has_answered), None)
    if silent is not None:
        return _no_answer(silent, named)
    if any(can_chat(info) for listing in listings for info in listing.models):
        return None
    labels = " and ".join(listing.label for listing in listings)
    return AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"{labels} {'has' if len(listings) == 1 else 'have'} no model to chat with.",
        hint="`ollm models pull NAME` downloads one; --provider names another provider.",
    )


def _with_port(listing: Listing, ports: Mapping[str, int]) -> str:
    port = ports.get(listing.provider)
    return f"{listing.label} ({port})" if port else listing.label


def _no_answer(listing: Listing, named: Named) -> AIError:
    problem = listing.problem or AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{listing.label} does not answer.",
        hint="Start it, or name another provider with --provider.",
        provider=listing.provider,
    )
    place = _alternatives(listing.provider, named)
    return AIError(
        problem.code,
        problem.message,
        hint=" ".join(part for part in (problem.hint, place) if part) or None,
        status=problem.status,
        provider=problem.provider,
        details=problem.details,
    )


def _alternatives(provider: str, named: Named) -> str | None:
    origin = named.origin_of(provider)
    if origin is None:
        return None
    place = f"The address comes from {origin}, so no other provider is used."
    if origin.kind != "environment":
        return place
    others = [name for name in named.providers if name != provider]
    another = f"`--provider {others[0]}`" if others else "--provider or --model"
    return f"{place} Choose one with {another}, or unset {origin.name}."


def passed_over(last: str | None, named: Named) -> ModelRef | None:
    """Return the model used last, if it is of none of the providers that were named."""
    ref = ModelRef.parse(last) if last else None
    return ref if ref is not None and ref.provider not in named.providers else None


def can_chat(info: ModelInfo) -> bool:
    """Return whether a model takes part in conversations, as far as is known."""
    if info.details.get("problem"):
        return False
    capability = info.capability or ModelCapability()
    return capability == ModelCapability() or matches_alias(capability, "chat")


def _pick(
    entries: Sequence[CatalogEntry], last: str | None, starter: ModelRef | None
) -> tuple[ModelRef | None, str]:
    refs = {str(entry.ref): entry.ref for entry in entries}
    if last in refs:
        return refs[last], "used last"
    if starter is not None and starter in refs.values():
        return starter, STARTER_REASON
    for entry in entries:
        if entry.info.loaded:
            return entry.ref, "already loaded"
    if entries:
        return _smallest(entries)
    return None, "no model was found"


def _smallest(entries: Sequence[CatalogEntry]) -> tuple[ModelRef, str]:
    """Return the smallest model; most servers do not tell how large theirs are."""
    first, *others = entries
    if not others:
        return first.ref, "the only one found"
    known = [entry for entry in entries if entry.info.size_bytes is not None]
    if not known:
        return first.ref, "the first one found"
    smallest = min(known, key=lambda entry: entry.info.size_bytes or 0)
    is_sure = len(known) == len(entries)
    return smallest.ref, "the smallest one found" if is_sure else "the smallest of known size"
