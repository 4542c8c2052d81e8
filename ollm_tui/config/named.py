"""The model, provider and addresses that the user named.

What was named is used, or the prompt fails; another model or server never replaces it.
"""

from collections.abc import Iterator

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.dataclass import dataclass

_THIS_RUN = frozenset({"flag", "environment"})
_CHOICES: tuple[KeyPath, ...] = (("model",), ("provider",), ("profile",))
_ADDRESSES = frozenset({"base_url", "base_urls"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The choices from the command line, the environment and the settings."""

    model: str | None = None
    """A name, or an address with its provider; a name beside --provider becomes an address."""
    provider: str | None = None
    """As written: a provider, an alias, or neither."""
    hosts: tuple[str, ...] = ()
    """Providers with an address from the command line or the environment."""
    origins: tuple[tuple[str, Origin], ...] = ()
    """The origin of each named provider."""
    by_flag: bool = False
    """Whether the command line names the model or provider, which wins over a saved chat's."""
    moved: frozenset[str] = frozenset()
    """Providers with an address from the user, in any place."""
    problem: ConfigProblem | None = None
    """Why a name cannot be used."""

    @property
    def address(self) -> str | None:
        """The model, with its provider if known, unless there is a problem."""
        if self.problem is not None:
            return None
        if self.model is None or self.provider is None or "://" in self.model:
            return self.model
        return f"{self.provider}://{self.model}"

    @property
    def is_exact(self) -> bool:
        """Whether both the model and its provider were named."""
        return "://" in (self.address or "")

    @property
    def providers(self) -> tuple[str, ...]:
        """The only providers that may be used; empty if none were named."""
        return (self.provider,) if self.provider is not None else self.hosts

    def origin_of(self, provider: str) -> Origin | None:
        """Return where a provider was named."""
        return dict(self.origins).get(provider)

    def model_for_chat(self, saved: str | None) -> str | None:
        """Return the model that a saved chat continues with; None if one must be chosen first."""
        if not self.by_flag:
            return saved
        if self.model is not None:
            return self.address
        scheme, mark, _ = (saved or "").partition("://")
        return saved if mark and scheme == self.provider else None


def named_by(loaded: LoadedConfig) -> Named:
    """Collect what was named."""
    config = loaded.config
    provider = config.aliases.get(config.provider or "", config.provider)
    model = config.model
    # `--host` names a server, whose listing is used; what --provider has need not be listed.
    by_host = loaded.origin_of("provider").name == "--host"
    if model and provider and "://" not in model and not by_host:
        model = f"{provider}://{model}"
    hosts = {name: origin for name in config.providers if (origin := _host_origin(loaded, name))}
    origins = dict(hosts)
    if provider is not None:
        origins[provider] = loaded.origin_of("provider")
    moved = (name for name in config.providers if _is_moved(loaded, name))
    return Named(
        model=model or None,
        provider=provider,
        hosts=tuple(hosts),
        origins=tuple(origins.items()),
        by_flag=_is_by_flag(loaded),
        moved=frozenset(moved),
        problem=next(_problems(loaded, model, provider, is_hidden=not hosts), None),
    )


def _is_by_flag(loaded: LoadedConfig) -> bool:
    profile = loaded.profile if loaded.origin_of("profile").kind == "flag" else None
    if profile is not None and profile.model is not None:
        return True
    return any(loaded.origin_of(key).kind == "flag" for key in ("model", "provider"))


def _problems(
    loaded: LoadedConfig, model: str | None, provider: str | None, *, is_hidden: bool
) -> Iterator[ConfigProblem]:
    """Yield what makes names unusable; `is_hidden`: an unreadable file may have the only one."""
    of_flag = loaded.origin_of("model").kind == "flag" and "://" in (model or "")
    is_hidden = is_hidden and not any(
        loaded.origin_of(key).kind in _THIS_RUN for key in ("model", "provider")
    )
    choices = (*_CHOICES, ("profiles", loaded.config.profile, "model"))
    for problem in loaded.problems:
        if of_flag and problem.path == ("provider",) and problem.origin.kind != "flag":
            continue  # a source of higher rank names the provider
        of_all = not problem.path and (problem.origin.kind == "flag" or is_hidden)
        if problem.severity == "error" and (problem.path in choices or of_all):
            yield problem
    origin, other = loaded.origin_of("model"), loaded.origin_of("provider")
    scheme, mark, _ = (model or "").partition("://")
    named_provider = loaded.config.aliases.get(scheme, scheme)
    if origin.kind == other.kind == "flag" and mark and named_provider != provider:
        message = f"{origin.name} names a model of `{scheme}`, {other.name} names `{provider}`."
        hint = "Name one provider, or give the model without its provider."
        yield ConfigProblem(message, origin, ("model",), hint=hint)


def _host_origin(loaded: LoadedConfig, name: str) -> Origin | None:
    """Return where the address of a provider was given for this run, even an invalid one."""
    origins = [loaded.origin_of(dotted(("providers", name, key))) for key in sorted(_ADDRESSES)]
    problem = loaded.config.providers[name].problem
    if problem is not None and problem.path[2:3] and problem.path[2] in _ADDRESSES:
        origins.append(problem.origin)
    return next((origin for origin in origins if origin.kind in _THIS_RUN), None)


def _is_moved(loaded: LoadedConfig, name: str) -> bool:
    problem = loaded.config.providers[name].problem
    keys = (dotted(("providers", name, key)) for key in _ADDRESSES)
    return problem is not None or any(key in loaded.origins for key in keys)
