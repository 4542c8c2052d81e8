"""The hub that the settings name, and one that they fail to name."""

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import default_paths
from ollm_tui.library.hub.repo import Hub
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.providers.fetcher import HttpFetcher
from ollm_tui.runtime.hub import make_hub
from tests.support.fake_hub import serve_hub
from tests.support.hub_samples import TOKEN, sample_hub


def hub_with(fetcher: Fetcher, **environ: str) -> Hub:
    return make_hub(load_config(default_paths(), environ, Flags()).config.hub, fetcher)


def test_by_default_it_is_hugging_face_s_own() -> None:
    hub = hub_with(HttpFetcher())
    assert hub.address == "https://huggingface.co"
    assert hub.token_for("https://huggingface.co/x") is None


async def test_the_variables_lead_to_the_hub_with_the_token() -> None:
    fetcher = HttpFetcher()
    async with serve_hub(sample_hub(10_000)) as served:
        asked = hub_with(fetcher, HF_ENDPOINT=served.url, HF_TOKEN=TOKEN)
        assert asked.address == served.url
        assert len((await asked.repo("someone/Secret-GGUF")).variants) == 5
        assert asked.token_for(asked.file_url("o/r", "main", "m.gguf")) == TOKEN
        await fetcher.aclose()


async def test_one_that_is_not_clear_is_not_asked() -> None:
    hub = hub_with(HttpFetcher(), HF_ENDPOINT="ftp://x", HF_TOKEN=TOKEN)
    for ask in (lambda: hub.search("x"), lambda: hub.repo("o/r")):
        with pytest.raises(AIError) as raised:
            await ask()
        assert raised.value.code == ErrorCode.BAD_REQUEST
        assert raised.value.message == (
            "`hub.endpoint` cannot be used. "
            "An address begins with http:// or https:// (HF_ENDPOINT)."
        )
    with pytest.raises(AIError):
        hub.file_url("o/r", "main", "m.gguf")
    assert hub.token_for("https://huggingface.co/x") is None
