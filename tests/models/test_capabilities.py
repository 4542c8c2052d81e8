"""What a model can do and how that is known: one function resolves it for everybody."""

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.models.capabilities import (
    ABILITIES,
    Ability,
    Fact,
    ModelOverrides,
    capabilities_of,
    with_overrides,
)
from ollm_tui.protocol.model import ModelCapability, ModelInfo

TEXT = frozenset({"text"})
CHAT = frozenset({"stream", "multi_turn"})
SEES = ModelCapability(TEXT | {"image"}, TEXT, CHAT | {"tool_use"})
PARTS = st.builds(
    ModelCapability,
    input=st.frozensets(st.sampled_from(["text", "image"])),
    output=st.frozensets(st.sampled_from(["text", "embedding"])),
    features=st.frozensets(st.sampled_from(["stream", "tool_use", "thinking"])),
)
INFOS = st.builds(
    ModelInfo,
    name=st.sampled_from(["m", "qwen3-vl:8b", "nomic-embed-text", "deepseek-r1"]),
    capability=st.none() | PARTS,
    context=st.none() | st.integers(1, 10**6),
    reported=st.none() | st.frozensets(st.sampled_from(ABILITIES)),
    assumed=st.none() | PARTS,
)
OVERRIDES = st.builds(
    ModelOverrides,
    vision=st.none() | st.booleans(),
    tools=st.none() | st.booleans(),
    thinking=st.none() | st.booleans(),
    context=st.none() | st.integers(1, 10**6),
)


def test_what_the_engine_declared_is_known_also_that_it_lacks_something() -> None:
    held = capabilities_of(ModelInfo(name="qwen3", capability=SEES, context=8192))
    assert held.vision == held.tools == Fact(value=True, source="known")
    assert held.thinking == Fact(value=False, source="known")
    assert held.context == Fact(8192, "known")


def test_an_engine_that_tells_of_pictures_alone_leaves_the_rest_to_the_family() -> None:
    only_text = ModelCapability(TEXT, TEXT, CHAT)
    thinks = ModelCapability(TEXT | {"image"}, TEXT, CHAT | {"tool_use", "thinking"})
    info = ModelInfo(
        name="qwen3", capability=only_text, reported=frozenset({"vision"}), assumed=thinks
    )
    held = capabilities_of(info)
    assert held.vision == Fact(value=False, source="known")
    assert held.tools == held.thinking == Fact(value=True, source="assumed")


@given(info=INFOS, overrides=OVERRIDES)
def test_what_a_person_set_counts_and_changes_nothing_else(
    info: ModelInfo, overrides: ModelOverrides
) -> None:
    before, after = capabilities_of(info), capabilities_of(with_overrides(info, overrides))
    names: tuple[Ability, ...] = ("vision", "tools", "thinking")
    for name in names:
        wish = getattr(overrides, name)
        expected = before.ability(name) if wish is None else Fact(wish, "set")
        assert after.ability(name) == expected
    assert after.embedding == before.embedding
    assert after.context == (
        Fact(overrides.context, "set") if overrides.context else before.context
    )


@given(info=INFOS)
def test_no_overrides_leave_a_model_as_it_is(info: ModelInfo) -> None:
    assert with_overrides(info, ModelOverrides()) is info
