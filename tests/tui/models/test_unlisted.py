"""A model that is named with its provider is looked for in what the provider lists."""

from pathlib import Path
from typing import cast

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import CatalogEntry, Listing, ModelCatalog
from ollm_tui.tui.models.messages import unlisted_words
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime

OLLAMA = Listing(
    provider="local",
    label="Ollama",
    models=(ModelInfo(name="qwen3:8b"), ModelInfo(name="tiny:latest")),
)


class Direct(ScriptedRuntime):
    """Takes a model that is named with its provider as it is named, as the router does."""

    async def resolve(self, model: str, requirement: ModelCapability | None = None) -> CatalogEntry:
        ref = ModelRef.parse(model)
        assert ref is not None
        return CatalogEntry(ref, ModelInfo(name=ref.model))


def words_of(catalog: ScriptedCatalog, ref: ModelRef) -> tuple[str, str | None] | None:
    return unlisted_words(cast("ModelCatalog", catalog), ref, "F4")


async def test_a_typing_mistake_is_reported_with_what_was_meant(tmp_path: Path) -> None:
    runtime = Direct(catalog=ScriptedCatalog(OLLAMA))
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/model local://qwen8:8b")
        assert "Ollama does not list a model named qwen8:8b." in stage.shown
        assert "Did you mean /model local://qwen3:8b?" in stage.screen_text
        assert stage.controller.session.model == "local://qwen8:8b"


async def test_a_model_that_is_listed_is_chosen_without_a_word_more(tmp_path: Path) -> None:
    runtime = Direct(catalog=ScriptedCatalog(OLLAMA))
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/model local://qwen3:8b")
        assert "Now using" in stage.shown
        assert "does not list" not in stage.shown


def test_without_a_list_nothing_is_reported() -> None:
    problem = AIError(ErrorCode.TIMEOUT, "Too slow.")
    ref = ModelRef("local", "any")
    assert words_of(ScriptedCatalog(), ref) is None
    assert words_of(ScriptedCatalog(Listing(provider="local", label="Ollama")), ref) is None
    broken = Listing(provider="local", label="Ollama", models=OLLAMA.models, problem=problem)
    assert words_of(ScriptedCatalog(broken), ref) is None
    assert words_of(ScriptedCatalog(OLLAMA), ref) is not None
    assert words_of(ScriptedCatalog(OLLAMA), ModelRef("local", "tiny")) is None


async def test_a_provider_is_shown_by_the_name_that_people_write(tmp_path: Path) -> None:
    catalog = ScriptedCatalog(OLLAMA)
    catalog.registry.register_alias("ollama", "local", is_shown=True)
    async with staged(tmp_path / "config.toml", Direct(catalog=catalog)) as stage:
        await stage.ask("/model local://qwen3:8b")
        assert "qwen3:8b · ollama" in stage.screen_text
        models = stage.controller.host.model_addresses()
        assert models["ollama://qwen3:8b"] is True
        assert models["ollama://tiny:latest"] is False
        assert not any(address.startswith("local://") for address in models)
        host = stage.controller.host
        host.session.runtime = Direct(catalog=ScriptedCatalog(OLLAMA, known=()))  # not listed yet
        assert [*host.model_addresses().values()] == [True]


def test_several_near_names_are_one_sentence() -> None:
    models = tuple(ModelInfo(name=f"go-{word}:latest") for word in ("forever", "tool", "think"))
    catalog = ScriptedCatalog(Listing(provider="local", label="Ollama", models=models))
    words = words_of(catalog, ModelRef("local", "go-forever:latestforever"))
    assert words is not None
    assert words[1] is not None
    assert words[1].count(" or ") == 1
    assert words[1].startswith("Did you mean /model local://go-forever:latest, /model")
