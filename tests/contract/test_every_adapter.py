"""No class of adapters of a remote server is left out of the contract."""

from collections.abc import Iterator

from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic import AnthropicProvider
from ollm_tui.providers.ollama.provider import OllamaProvider
from ollm_tui.providers.openai_compatible import (
    OpenAICompatibleProvider,
    SdCppProvider,
    SdWebUIProvider,
)
from tests.support.fakes import REMOTES


def with_heirs(base: type[object]) -> Iterator[type[object]]:
    yield base
    for heir in base.__subclasses__():
        if heir.__module__.startswith("ollm_tui."):
            yield from with_heirs(heir)


def test_every_class_of_adapters_is_in_the_table() -> None:
    made = {type(create_provider(remote.spec("http://localhost:1"))) for remote in REMOTES.values()}
    bases = (OllamaProvider, AnthropicProvider, OpenAICompatibleProvider)
    heirs = {heir for base in bases for heir in with_heirs(base)}
    assert made == heirs - {SdCppProvider, SdWebUIProvider}, "these two do not chat"
    assert len(made) == len(REMOTES)
