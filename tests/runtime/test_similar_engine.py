"""A real model lists a paraphrase first: `make test-engines` brings its weights."""

from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.media.similar import similar_search
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.search.query import parse_query
from tests.store.rig import SETTINGS, asked
from tests.store.search.rig import update
from tests.support.sound_models import WEIGHTS

MODEL = WEIGHTS / "all-minilm.gguf"
PAIRS = {
    "the vehicle's engine refuses to turn over": "My car does not start in the morning",
    "cooking time for eggs in hot water": "How long do I boil one?\n" + "It is an egg. " * 900,
    "suffering from insomnia": "I cannot fall asleep at night",
    "a drink to serve with salmon": "Which wine goes with fish?",
}
LONG_WITHOUT_SPACES = "\u65e5\u672c\u8a9e" * 3000


@pytest.fixture
async def paths(tmp_path: Path) -> AppPaths:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    paths.models_dir.mkdir(parents=True)
    async with open_store(paths.data_dir / FILE_NAME) as store:
        for text in (*PAIRS.values(), LONG_WITHOUT_SPACES, "ok"):
            await store.journal(SETTINGS).begin(asked(text))
    update(paths.data_dir / FILE_NAME)
    return paths


@pytest.mark.engine
@pytest.mark.skipif(not MODEL.exists(), reason=f"no {MODEL}: make test-engines")
async def test_paraphrases_are_listed_first_whatever_the_length(paths: AppPaths) -> None:
    (paths.models_dir / MODEL.name).symlink_to(MODEL)
    async with load_runtime(Flags(), {"OLLAMA_HOST": "http://127.0.0.1:9"}, paths)() as runtime:
        search = similar_search(runtime)
        reports: list[tuple[int, int]] = []
        await search.update(lambda done, messages: reports.append((done, messages)))
        assert reports[-1] == (6, 6)
        for paraphrase, text in PAIRS.items():
            results = await search.search(parse_query(paraphrase))
            assert results.hits[0].hit.snippet.text[:20] == text.replace("\n", " ")[:20]
        await runtime.manager.run("unload", ModelRef("embedded", MODEL.stem))


async def test_without_an_embedding_model_it_says_what_to_install(paths: AppPaths) -> None:
    async with load_runtime(Flags(), {"OLLAMA_HOST": "http://127.0.0.1:9"}, paths)() as runtime:
        with pytest.raises(AIError, match="No embedding model found") as caught:
            await similar_search(runtime).search(parse_query("insomnia"))
    assert "nomic-embed-text" in (caught.value.hint or "")
