"""Settings from the command line."""

from collections.abc import Iterator

from ollm_tui.config.backends import DEFAULT_PROVIDER
from ollm_tui.config.flags import Flags
from ollm_tui.config.layers import Layers, Setting
from ollm_tui.config.origin import ConfigProblem, Origin

FLAG_RANK = 3


def flag_settings(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    """Give what the command line says; host and key go to the provider it chooses."""
    yield from _empty(flags)
    model, provider = flags.model or None, flags.provider
    if model and provider and "://" not in model:
        model = f"{provider}://{model}"
    if flags.host:  # whoever names an address wants that server to be asked
        provider = provider or chosen_provider(flags, layers)
    said = (
        ("model", model, "--model"),
        ("provider", provider, "--provider" if flags.provider is not None else "--host"),
        ("system_prompt", flags.system, "--system"),
        ("theme", flags.theme, "--theme"),
    )
    for key, value, name in said:
        if value is not None:
            yield Setting((key,), value, Origin("flag", name), FLAG_RANK)
    if flags.tools is not None:
        yield Setting(("tools", "enabled"), [*flags.tools], Origin("flag", "--tools"), FLAG_RANK)
    yield from _connection(flags, layers)


def _empty(flags: Flags) -> Iterator[ConfigProblem]:
    """Refuse a name that is empty, as an unset variable of a script leaves it."""
    for value, name, path in (
        (flags.model, "--model", ("model",)),
        (flags.provider, "--provider", ("provider",)),
        (flags.host, "--host", ()),
    ):
        if value is not None and not value.strip():
            hint = "Name one, or leave the option out."
            yield ConfigProblem(f"{name} is empty.", Origin("flag", name), path, hint=hint)


def newer_provider(layers: Layers) -> Iterator[Setting]:
    """Leave out the model of another provider than the one that a higher place names."""
    model, provider = layers.top(("model",)), layers.top(("provider",))
    if model is None or provider is None or provider.rank <= model.rank:
        return
    if not isinstance(model.value, str) or not isinstance(provider.value, str):
        return
    scheme, mark, _ = model.value.partition("://")
    if mark and _aliased(scheme, layers) != _aliased(provider.value, layers):
        yield Setting(("model",), None, provider.origin, provider.rank)


def _aliased(name: str, layers: Layers) -> str:
    """Give the provider that a name means; a configured one takes the alias of that name."""
    if layers.below(("providers", name)):
        return name
    alias = layers.top(("aliases", name))
    return alias.value if alias and isinstance(alias.value, str) else name


def _connection(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    host = flags.host if (flags.host or "").strip() else None
    if host is None and flags.api_key is None:
        return
    name = chosen_provider(flags, layers)
    kind = layers.top(("providers", name, "kind"))
    if kind is not None and kind.value == "embedded":
        used = "--host" if host is not None else "--api-key"
        yield ConfigProblem(f"{used} does not apply to `{name}`.", Origin("flag", used))
        return
    for key, value, flag in (
        ("base_url", host, "--host"),
        ("api_key", flags.api_key, "--api-key"),
    ):
        if value is not None:
            yield Setting(("providers", name, key), value, Origin("flag", flag), FLAG_RANK)


def chosen_provider(flags: Flags, layers: Layers) -> str:
    """Give the instance that host and key belong to: named, else in the model, else configured."""
    scheme, mark, _ = (flags.model or "").partition("://")
    configured = layers.top(("provider",))
    in_config = configured.value if configured and isinstance(configured.value, str) else None
    name = flags.provider or (scheme if mark else None) or in_config or DEFAULT_PROVIDER
    return _aliased(name, layers)
