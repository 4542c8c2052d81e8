"""Settings from the command line."""

from collections.abc import Iterator

from ollm_tui.config.flags import Flags
from ollm_tui.config.layers import Layers, Setting
from ollm_tui.config.origin import ConfigProblem, Origin
from ollm_tui.config.presets import DEFAULT_PROVIDER

FLAG_RANK = 3


def flag_settings(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    """Give what the command line says; host and key go to the provider it chooses."""
    model = flags.model
    if model and flags.provider and "://" not in model:
        model = f"{flags.provider}://{model}"
    said = (
        ("model", model, "--model"),
        ("provider", flags.provider, "--provider"),
        ("system_prompt", flags.system, "--system"),
        ("theme", flags.theme, "--theme"),
    )
    for key, value, name in said:
        if value is not None:
            yield Setting((key,), value, Origin("flag", name), FLAG_RANK)
    if flags.tools is not None:
        yield Setting(("tools", "enabled"), [*flags.tools], Origin("flag", "--tools"), FLAG_RANK)
    if flags.provider is not None and model is None:
        yield from _other_model(flags.provider, layers)
    yield from _connection(flags, layers)


def _other_model(provider: str, layers: Layers) -> Iterator[Setting]:
    """Leave out a configured model that another provider has: `--provider` is the newer word."""
    configured = layers.top(("model",))
    if configured is None or not isinstance(configured.value, str):
        return
    scheme, mark, _ = configured.value.partition("://")
    if mark and scheme != provider:
        yield Setting(("model",), None, Origin("flag", "--provider"), FLAG_RANK)


def _connection(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    if flags.host is None and flags.api_key is None:
        return
    name = chosen_provider(flags, layers)
    kind = layers.top(("providers", name, "kind"))
    if kind is not None and kind.value == "embedded":
        used = "--host" if flags.host is not None else "--api-key"
        yield ConfigProblem(f"{used} means nothing to `{name}`.", Origin("flag", used))
        return
    for key, value, flag in (
        ("base_url", flags.host, "--host"),
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
    if layers.below(("providers", name)):
        return name
    alias = layers.top(("aliases", name))
    return alias.value if alias and isinstance(alias.value, str) else name
