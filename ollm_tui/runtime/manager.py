"""`ModelManager`: what front ends do with installed models."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from anyio import to_thread

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.urls import shown_url
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.keep_alive import keep_alive_seconds, parse_keep_alive
from ollm_tui.protocol.model import ModelDraft, ModelInfo, ModelRef
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    ReportProgress,
    SupportsLoadFor,
    SupportsShow,
    SupportsWindow,
)
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.base_url import is_loopback
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.operations import cannot, has_method, method_of, show_model, translated
from ollm_tui.providers.router import same_model
from ollm_tui.runtime.describing import described
from ollm_tui.runtime.details import ModelDetails
from ollm_tui.runtime.model_lookup import (
    TIMEOUT_S,
    FoundModel,
    InMemory,
    list_in_memory,
)
from ollm_tui.runtime.providers import Providers
from ollm_tui.runtime.templates import Templates


class ModelManager:
    """Inspects, loads, unloads, copies and deletes models of any provider.

    One action at a time runs on a model, whichever front end asks. The provider's list is forgotten
    after every action, however it ended. What cannot be done raises `AIError`: for an unknown
    provider or model, by its server, or CONFLICT while another action on the model runs.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        providers: Providers,
        on_deleted: Callable[[str], Awaitable[None]],
    ) -> None:
        """Work on the parts of a runtime; `on_deleted` gets the address of each deleted model."""
        self._on_deleted = on_deleted
        self._loaded = loaded
        self._config = loaded.config
        self._registry, self._catalog = providers.registry, providers.catalog
        self._router, self._prober = providers.router, providers.prober
        self.templates = Templates()
        """Renders and reads the models' chat templates."""
        self._engine = providers.engine
        self.known_models = self._engine.known_models
        self._ongoing: list[tuple[str, str]] = []
        """Provider and model of each action that runs."""

    async def find(self, text: str) -> FoundModel:
        """Find a model by its name or address, with its entry in its provider's list."""
        name, provider = text.strip(), self._config.provider
        address = name if "://" in name or not provider else f"{provider}://{name}"
        resolved = await self._router.resolve(address)
        return await self._listed(resolved.provider, resolved.ref, resolved.info)

    async def provider_for(self, text: str) -> tuple[ProviderAdapter, ModelRef]:
        """Return the provider for a new model: the one named, or the default."""
        ref = ModelRef.parse(text.strip())
        if ref is None:
            default = self._config.provider or self._registry.get_default().name
            adapter = await self._router.provider(default)
            return adapter, ModelRef(adapter.name, text.strip())
        named = await self._router.provider(ref.provider)
        return named, ModelRef(named.name, ref.model)

    async def unavailable_reasons(self, ref: ModelRef) -> Mapping[ModelAction, str | None]:
        """Return why each action is unavailable, as far as is known without asking; else None."""
        adapter = self._known(ref)
        listings = self._catalog.cached()
        listing = next((one for one in listings if one.provider == adapter.name), None)
        info = self._catalog.find(ModelRef(adapter.name, ref.model))
        reasons = unavailable_reasons(adapter, self._place_of(adapter), listing, info)
        if self._is_embedded(adapter) and reasons["load"] is None:
            problem = self._engine.problem
            return reasons | {"load": None if problem is None else problem.message}
        return reasons

    def takes_window(self, model: str) -> bool:
        """Return whether a model's server loads it with the window that a request asks for.

        An unknown one may.
        """
        ref = ModelRef.parse(model)
        adapter = self._registry.get(ref.provider) if ref is not None else None
        return adapter is None or isinstance(adapter, SupportsWindow)

    def place(self, ref: ModelRef) -> str:
        """Return where a model is, without the secrets of an address."""
        return self._place_of(self._known(ref))

    async def show(self, ref: ModelRef) -> ModelDetails:
        """Return the details of a model, from the list of its provider if it reports no more."""
        model = await self._at(ref)
        raw, corrected = await self._facts_of(model)
        details = described(
            model,
            raw,
            corrected,
            self._loaded,
            known=await to_thread.run_sync(self.known_models.of_model, model.ref.model, raw),
            loads_with_window=isinstance(model.adapter, SupportsWindow),
        )
        details = await self.templates.read_for(details)
        is_ours = self._is_embedded(model.adapter)
        address = self._prober.address_of(model.adapter.name)
        if not (is_ours or (address is not None and is_loopback(address))):
            return details
        # Judging a model takes more modules than all else here.
        from ollm_tui.library.machine_probe import Probe, find_machine
        from ollm_tui.runtime.model_fit import with_fit

        probe = Probe(server=self._engine.program)
        return await with_fit(
            details,
            partial(find_machine, probe),
            known_models=self.known_models,
            owns_path=is_ours,
        )

    async def run(self, action: ModelAction, ref: ModelRef, value: str | None = None) -> ModelRef:
        """Run an action that changes a model, and return the model, or its copy.

        `value` is what the action takes beside the model: the new name of a copy, or how long to
        keep a model loaded.
        """
        match action:
            case "copy":
                return await self.copy(ref, value or "")
            case "load" | "keep":
                await self.load(ref, keep_alive=value or None)
            case "delete":
                await self.delete(ref)
            case _:
                await self._call(action, ref)
        return ref

    async def _call(self, action: ModelAction, ref: ModelRef) -> ProviderAdapter:
        adapter = await self._router.provider(ref.provider)
        with self._changing(adapter, ref.model):
            await method_of(adapter, action)(ref.model)
        return adapter

    async def delete(self, ref: ModelRef) -> None:
        """Delete a model."""
        adapter = await self._call("delete", ref)
        await self._on_deleted(f"{adapter.name}://{ref.model}")

    async def copy(self, ref: ModelRef, name: str) -> ModelRef:
        """Copy a model to a second name on its server; `name` may be an address there.

        Raises:
            AIError: it has none; CONFLICT when the address is that of another provider.
        """
        adapter = await self._router.provider(ref.provider)
        wanted = ModelRef.parse(name.strip())
        if wanted is not None and self._registry.resolve(wanted.provider) is not adapter:
            raise AIError(
                ErrorCode.CONFLICT,
                "A model can only be copied on its own server.",
                hint=f"{ref.model} is at {self._place_of(adapter)}.",
            )
        copied = wanted.model if wanted is not None else name.strip()
        with self._changing(adapter, ref.model):
            await method_of(adapter, "copy")(ref.model, copied)
        return ModelRef(adapter.name, copied)

    async def create(self, ref: ModelRef, draft: ModelDraft, report: ReportProgress) -> None:
        """Make a model, in place of one that has its name."""
        adapter = await self._router.provider(ref.provider)
        create = method_of(adapter, "create")
        with self._changing(adapter, ref.model):
            await create(ref.model, draft, report)

    async def quantize(
        self, ref: ModelRef, level: str, copy: str, report: ReportProgress
    ) -> ModelRef:
        """Make a quantized copy of a model, in place of one that has its name, and return it.

        Raises:
            AIError: it could not be made; CONFLICT if the copy would replace the model itself.
        """
        adapter = await self._router.provider(ref.provider)
        quantize = method_of(adapter, "quantize")
        if same_model(copy, ref.model):
            raise AIError(
                ErrorCode.CONFLICT,
                "The copy would replace the model itself.",
                hint="Give the copy another name.",
            )
        with self._changing(adapter, ref.model), self._changing(adapter, copy):
            await quantize(ref.model, level, copy, report)
        return ModelRef(adapter.name, copy)

    async def push(self, ref: ModelRef, report: ReportProgress) -> None:
        """Have a model uploaded to the registry of its server."""
        adapter = await self._router.provider(ref.provider)
        push = method_of(adapter, "push")
        with self._changing(adapter, ref.model):
            await push(ref.model, report)

    async def load(self, ref: ModelRef, *, keep_alive: str | None = None) -> None:
        """Load a model into memory; `keep_alive` as people write it: `10m`, `forever`.

        Raises:
            AIError: it is not loaded; UNSUPPORTED_FEATURE for a time that its engine cannot keep.
        """
        adapter = await self._router.provider(ref.provider)
        with self._changing(adapter, ref.model):
            if keep_alive is None:
                await method_of(adapter, "load")(ref.model)
            else:
                load_for = method_of(adapter, "keep")
                await load_for(ref.model, read_keep_alive(keep_alive))

    async def running(self) -> Sequence[tuple[ModelRef, ModelInfo]]:
        """Return the loaded models of all servers that list them; failing ones are left out."""
        return (await self.in_memory()).models

    async def in_memory(self, *, within_s: float = TIMEOUT_S) -> InMemory:
        """Return the loaded models, and the providers that could not list theirs."""
        return await list_in_memory(self._catalog, self._registry.get, within_s=within_s)

    async def _at(self, ref: ModelRef) -> FoundModel:
        adapter = await self._router.provider(ref.provider)
        direct = ModelRef(adapter.name, ref.model)
        return await self._listed(adapter, direct, self._catalog.find(direct))

    def _place_of(self, adapter: ProviderAdapter) -> str:
        """Return a provider's label with its addresses, without their secrets."""
        settings = self._config.providers.get(adapter.name)
        at = self._prober.address_of(adapter.name)
        own = settings.addresses if settings else ()
        # An engine that was found elsewhere is not where its settings say.
        addresses = [shown_url(address) for address in (own if at in own else (at,)) if address]
        return f"{adapter.label} at {' and '.join(addresses)}" if addresses else adapter.label

    async def _listed(
        self, adapter: ProviderAdapter, ref: ModelRef, info: ModelInfo | None
    ) -> FoundModel:
        if info is None:
            listing = await self._catalog.listing(adapter.name, within_s=TIMEOUT_S)
            info = self._catalog.find(ref) or next(
                (one for one in listing.models if same_model(ref.model, one.name)), None
            )
            ref = ref if info is None else ModelRef(adapter.name, info.name)
        return FoundModel(adapter, ref, info, self._place_of(adapter))

    def _is_embedded(self, adapter: ProviderAdapter) -> bool:
        settings = self._config.providers.get(adapter.name)
        return settings is not None and settings.kind == "embedded"

    def _known(self, ref: ModelRef) -> ProviderAdapter:
        adapter = self._registry.resolve(ref.provider)
        if adapter is None:
            raise self._registry.unknown(ref.provider)
        return adapter

    @contextmanager
    def _changing(self, adapter: ProviderAdapter, model: str) -> Iterator[None]:
        if any(adapter.name == at and same_model(model, name) for at, name in self._ongoing):
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another action on {model} is in progress.",
                provider=adapter.name,
            )
        self._ongoing.append(action := (adapter.name, model))
        try:
            with translated(adapter, "change its models", self._registry.redact):
                yield
        finally:
            self._ongoing.remove(action)
            self._catalog.forget(adapter.name)

    async def _facts_of(self, model: FoundModel) -> tuple[ModelInfo, ModelInfo]:
        """Return what a provider reports of a model, and the same with corrections applied."""
        listed = model.info
        if not isinstance(model.adapter, SupportsShow):
            if listed is None:
                raise await self._unlisted(model)
            is_set = "context" in listed.chosen
            return replace(listed, context=None) if is_set else listed, listed
        info = await show_model(model.adapter, model.ref.model, self._registry.redact)
        if info.size_bytes is None and listed is not None:
            info = replace(info, size_bytes=listed.size_bytes)
        return info, self._prober.corrected(model.ref, info)

    async def _unlisted(self, model: FoundModel) -> AIError:
        listing = await self._catalog.listing(model.adapter.name, within_s=TIMEOUT_S)
        if listing.problem is not None:
            return listing.problem
        if listing.absent:
            code, message = ErrorCode.SERVICE_UNAVAILABLE, f"{model.place} does not answer."
            hint = "Start the server, or choose another one with --host."
        else:
            code = ErrorCode.MODEL_NOT_FOUND
            message = f"{model.place} has no model named {model.ref.model!r}."
            hint = "`ollm models list` lists all models."
        return AIError(code, message, hint=hint)


def read_keep_alive(text: str) -> str | float:
    """Parse how long to keep a model that is loaded: like `parse_keep_alive`, but not 0.

    Raises:
        AIError: BAD_REQUEST if it is not a duration, or zero.
    """
    try:
        parsed = parse_keep_alive(text)
    except ValueError as error:
        raise AIError(
            ErrorCode.BAD_REQUEST, f"{text[:40]!r} is not a valid duration.", hint=f"It {error}."
        ) from None
    if not keep_alive_seconds(parsed):
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "A time of 0 would unload the model at once.",
            hint="Give seconds, text like 5m, or forever.",
        )
    return parsed


def unavailable_reasons(
    adapter: ProviderAdapter, place: str, listing: Listing | None, info: ModelInfo | None
) -> dict[ModelAction, str | None]:
    """Return why each action is unavailable, as far as is known without asking; else None.

    `listing` is the newest list of the provider, however old; `info` its entry for the model.
    """
    is_usable = not isinstance(adapter, UnusableProvider)
    down = _down(place, listing)
    reasons: dict[ModelAction, str | None] = {}
    for action, known in ACTIONS.items():
        able = is_usable and any(has_method(adapter, name) for name in known.methods)
        lacking = None if able else cannot(adapter, known.ability).message
        reasons[action] = lacking or down or (_obstacle(action, adapter, info) if info else None)
    return reasons


def _down(place: str, listing: Listing | None) -> str | None:
    if listing is not None and listing.problem is not None:
        return listing.problem.message
    return f"{place} does not answer." if listing is not None and listing.absent else None


def _obstacle(action: ModelAction, adapter: ProviderAdapter, info: ModelInfo) -> str | None:
    """Return what about the model itself stands in the way."""
    kept, problem = info.details.get("why_kept"), info.details.get("problem")
    if action == "delete" and isinstance(kept, str):
        return kept
    if action == "load" and isinstance(problem, str):
        return f"{info.name} cannot be used: {problem}."
    if info.loaded is None or not ACTIONS[action].has_happened(is_loaded=info.loaded):
        return None
    if not info.loaded:
        return f"{info.name} is not loaded."
    is_too_late = not isinstance(adapter, SupportsLoadFor)
    return f"{info.name} is already loaded." if is_too_late else None
