"""Names, aliases and the default of the provider registry."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.registry import ProviderRegistry
from tests.support.providers import ScriptedProvider

NAMES = st.lists(st.text(min_size=1), unique=True, min_size=1, max_size=12)


def filled(names: list[str]) -> tuple[ProviderRegistry, dict[str, ScriptedProvider]]:
    registry, adapters = ProviderRegistry(), {name: ScriptedProvider(name) for name in names}
    for adapter in adapters.values():
        registry.register(adapter)
    return registry, adapters


# Feature: stage-02-core-provider, Property 1: Provider Registration and Retrieval
@settings(max_examples=100)
@given(names=NAMES)
def test_a_registered_adapter_is_found_by_its_name(names: list[str]) -> None:
    registry, adapters = filled(names)
    assert all(registry.get(name) is adapter for name, adapter in adapters.items())


# Feature: stage-02-core-provider, Property 2: Default Provider Resolution
@settings(max_examples=100)
@given(names=NAMES, data=st.data())
def test_the_default_is_what_is_given_without_a_name(names: list[str], data: st.DataObject) -> None:
    registry, adapters = filled(names)
    chosen = data.draw(st.sampled_from(names))
    registry.set_default(chosen)
    assert registry.get_default() is adapters[chosen]
    assert registry.get() is adapters[chosen]
    assert registry.get(None) is adapters[chosen]


# Feature: stage-02-core-provider, Property 3: Provider List Completeness
@settings(max_examples=100)
@given(names=NAMES)
def test_the_list_holds_each_name_once(names: list[str]) -> None:
    registry, _adapters = filled([*names, *names])
    assert registry.list() == names


@st.composite
def alias_maps(draw: st.DrawFn) -> tuple[list[str], dict[str, str]]:
    """Names of providers, and other names for some of them or for nobody."""
    names = draw(NAMES)
    free = st.text(min_size=1).filter(lambda name: name not in names)
    return names, draw(st.dictionaries(free, st.sampled_from([*names, "\0nobody"]), max_size=6))


# Feature: stage-11-vllm-openai, Property 11: Provider Registry Alias Resolution
@settings(max_examples=100)
@given(made=alias_maps())
def test_an_alias_is_resolved_to_what_it_stands_for_and_a_name_to_itself(
    made: tuple[list[str], dict[str, str]],
) -> None:
    names, aliases = made
    registry, adapters = filled(names)
    for alias, name in aliases.items():
        registry.register_alias(alias, name)
    assert all(registry.resolve(name) is adapters[name] for name in names)
    assert {alias: registry.resolve(alias) for alias in aliases} == {
        alias: adapters.get(name) for alias, name in aliases.items()
    }


# Feature: stage-11-vllm-openai, Property 12: Provider Registry Not Found Behavior
@settings(max_examples=100)
@given(made=alias_maps(), asked=st.text())
def test_a_name_that_no_model_has_resolves_to_nothing(
    made: tuple[list[str], dict[str, str]], asked: str
) -> None:
    names, aliases = made
    registry, _ = filled(names)
    for alias, name in aliases.items():
        registry.register_alias(alias, name)
    assert (registry.resolve(asked) is None) == (
        asked not in names and aliases.get(asked) not in names
    )
    assert all(registry.resolve(a) is None for a, name in aliases.items() if name not in names)


# Feature: stage-11-vllm-openai, Property 13: Provider Registry Backward Compatibility
@settings(max_examples=100)
@given(made=alias_maps(), asked=st.text(), data=st.data())
def test_aliases_change_nothing_of_what_get_gives(
    made: tuple[list[str], dict[str, str]], asked: str, data: st.DataObject
) -> None:
    names, aliases = made
    plain, adapters = filled(names)
    registry = ProviderRegistry()
    for adapter in adapters.values():
        registry.register(adapter)
    default = data.draw(st.sampled_from(names))
    plain.set_default(default)
    registry.set_default(default)
    for alias, name in aliases.items():
        registry.register_alias(alias, name)
    for any_name in [asked, None, *names, *aliases]:
        assert registry.get(any_name) is plain.get(any_name)
    assert registry.list() == plain.list() == names
    assert registry.get_default() is plain.get_default()
    assert registry.by_priority() == plain.by_priority()


def test_without_a_default_nothing_is_given_and_asking_for_it_raises() -> None:
    registry = ProviderRegistry()
    assert registry.get(None) is None
    with pytest.raises(AIError, match="default"):
        registry.get_default()


def test_an_unknown_default_is_refused_and_the_known_ones_are_named() -> None:
    registry, _ = filled(["local", "embedded"])
    with pytest.raises(AIError, match="local, embedded"):
        registry.set_default("nobody")


def test_an_alias_is_followed_by_resolve_and_not_by_get() -> None:
    registry, adapters = filled(["local"])
    registry.register_alias("ollama", "local")
    registry.register_alias("o", "ollama")
    assert registry.resolve("ollama") is adapters["local"]
    assert registry.resolve("o") is adapters["local"]
    assert registry.get("ollama") is None


def test_registering_a_name_removes_the_alias_of_that_name() -> None:
    registry, _ = filled(["local"])
    registry.register_alias("ollama", "local")
    own = ScriptedProvider("ollama")
    registry.register(own)
    assert registry.resolve("ollama") is own


def test_an_alias_never_hides_a_provider() -> None:
    registry, _ = filled(["local", "vllm"])
    with pytest.raises(AIError, match="vllm"):
        registry.register_alias("vllm", "local")


def test_a_circle_of_aliases_resolves_to_nothing() -> None:
    registry = ProviderRegistry()
    registry.register_alias("a", "b")
    registry.register_alias("b", "a")
    assert registry.resolve("a") is None


def test_higher_priority_comes_first_and_equals_keep_their_order() -> None:
    registry = ProviderRegistry()
    for name, priority in [("a", 0), ("b", 5), ("c", 0), ("d", 5)]:
        registry.register(ScriptedProvider(name), priority=priority)
    assert [adapter.name for adapter in registry.by_priority()] == ["b", "d", "a", "c"]


def test_a_name_that_is_configured_is_no_alias_any_more_for_others_either() -> None:
    registry, own, old = ProviderRegistry(), ScriptedProvider("a"), ScriptedProvider("b")
    registry.register(old)
    registry.register_alias("a", "b")
    registry.register(own)
    registry.register_alias("c", "a")
    assert (registry.resolve("a"), registry.resolve("c")) == (own, own)


def test_a_shown_alias_names_its_provider_until_another_takes_the_name() -> None:
    registry = ProviderRegistry()
    registry.register(ScriptedProvider("local"))
    registry.register_alias("ollama", "local", is_shown=True)
    registry.register_alias("here", "local")
    assert registry.shown_name("local") == "ollama"
    assert registry.shown_name("other") == "other"
    registry.register(ScriptedProvider("ollama"))
    assert registry.shown_name("local") == "local"
