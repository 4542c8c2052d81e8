"""The fake server of every kind of remote provider."""

from collections.abc import Mapping

from tests.support.fake_anthropic import fake_anthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import fake_openai
from tests.support.http_server import Handler

FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": fake_openai(),
    "openai": fake_openai(),
    "anthropic": fake_anthropic(),
}
