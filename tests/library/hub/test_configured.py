"""The hub that the settings name, and one that they fail to name."""

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import default_paths
from ollm_tui.library.hub.configured import hub_of
from ollm_tui.library.hub.ports import Hub
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.providers.fetcher import HttpFetcher
from tests.support.fake_hub import FakeHub
from tests.support.hub_samples import TOKEN


def hub_with(fetcher: Fetcher, **environ: str) -> Hub:
    return hub_of(load_config(default_paths(), environ, Flags()).config.hub, fetcher)


def test_unless_told_it_is_hugging_face_s_own() -> None:
    hub = hub_with(HttpFetcher())
    assert hub.place == "https://huggingface.co"
    assert hub.token_for("https://huggingface.co/x") is None


async def test_the_variables_lead_to_the_hub_with_the_token(hub: FakeHub, fetcher: Fetcher) -> None:
    asked = hub_with(fetcher, HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    assert asked.place == hub.url
    assert len((await asked.repo("someone/Secret-GGUF")).variants) == 5
    assert asked.token_for(asked.file_url("o/r", "main", "m.gguf")) == TOKEN


async def test_one_that_is_not_clear_is_not_asked() -> None:
    hub = hub_with(HttpFetcher(), HF_ENDPOINT="ftp://x", HF_TOKEN=TOKEN)
    for ask in (lambda: hub.search("x"), lambda: hub.repo("o/r")):
        with pytest.raises(AIError) as raised:
            await ask()
        assert raised.value.code == ErrorCode.BAD_REQUEST
        assert raised.value.message.startswith("HF_ENDPOINT: `hub.endpoint` cannot be used.")
    with pytest.raises(AIError):
        hub.file_url("o/r", "main", "m.gguf")
    assert hub.token_for("https://huggingface.co/x") is None
    assert hub.place == "HF_ENDPOINT"
