"""The windows of a model: which of them counts, and what each is called."""

import pytest

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.runtime.describing import ASSUMED, context_facts
from ollm_tui.runtime.details import EffectiveValue

ASKED = EffectiveValue(name="num_ctx", value="4096", source="the model file", layer="model")
SETTING = EffectiveValue(name="context", value="1024", source="config.toml:3", layer="settings")


@pytest.mark.parametrize("is_loaded", [True, False, None])
def test_only_a_model_in_memory_has_a_loaded_window(is_loaded: bool | None) -> None:
    info = ModelInfo(name="m", context=8192, loaded=is_loaded)
    facts = context_facts(info, None, None, requested=True)
    assert facts.loaded == (8192 if is_loaded else None)
    assert (facts.tokens, facts.reported) == (8192, 8192)
    assert facts.source == ("as loaded" if is_loaded else "as reported by the server")


def test_what_the_user_sets_counts_most_and_what_is_not_known_is_assumed() -> None:
    info = ModelInfo(name="m", context=8192, details={"context_trained": 32_768})
    facts = context_facts(info, ASKED, SETTING, requested=True)
    assert (facts.tokens, facts.source, facts.is_set) == (1024, "config.toml:3", True)
    assert (facts.trained, facts.configured) == (32_768, 1024)
    unknown = context_facts(ModelInfo(name="m"), None, None, requested=False)
    assert (unknown.is_assumed, unknown.source) == (True, ASSUMED)
    of_family = ModelInfo(name="m", assumed_context=400_000)
    service = context_facts(of_family, None, None, requested=False)
    assert (service.tokens, service.is_assumed) == (400_000, True)
    assert service.source == "known of its family, not reported"
