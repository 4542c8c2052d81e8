"""Somebody who uses Ollama and nothing else notices nothing of all the other providers."""

import string
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol import chat_events
from ollm_tui.runtime.compose import load_runtime
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Received, Server, serve

WORDS = st.text(string.ascii_letters + string.digits + " -", min_size=1).filter(str.strip)
NAMES = st.text(string.ascii_lowercase, min_size=3, max_size=10).map(lambda name: f"x-{name}")
SETTINGS: st.SearchStrategy[Mapping[str, str]] = st.fixed_dictionaries(
    {},
    optional={
        "system_prompt": WORDS.map(lambda text: f'"{text}"'),
        "options.temperature": st.floats(0, 2, width=16).map(str),
        "options.num_ctx": st.integers(1024, 100_000).map(str),
        "options.seed": st.integers(0, 10**6).map(str),
    },
)


async def asked(
    server: Server, paths: AppPaths, text: str, prompt: str, *, is_named: bool
) -> tuple[Received, str, list[str]]:
    """Ask once with these settings; give the request, the answer and how it went."""
    paths.config_dir.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text, "utf-8")
    paths.config_file.chmod(0o600)
    before = len(server.received)
    async with load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)() as runtime:
        assert runtime.problems == ()
        client = runtime.new_client("local://tiny" if is_named else "tiny:latest", saved=False)
        async with client.chat(prompt) as events:
            seen = [event async for event in events]
    (request,) = [r for r in server.received[before:] if r.path == "/api/chat"]
    answer = "".join(e.delta for e in seen if isinstance(e, chat_events.TextDelta))
    kinds = {type(event).__name__ for event in seen}
    return request, answer, sorted(kinds)


# Feature: stage-11-vllm-openai, Property 24: Backward Compatibility Preservation
@pytest.mark.slow
@settings(max_examples=100)
@given(
    settings=SETTINGS,
    others=st.dictionaries(NAMES, st.sampled_from(["vllm", "lmstudio", "kobold"]), max_size=3),
    aliases=st.dictionaries(NAMES, st.sampled_from(["local", "embedded"]), max_size=2),
    prompt=WORDS,
    is_named=st.booleans(),
)
async def test_ollama_is_asked_byte_for_byte_as_if_it_were_alone(
    settings: Mapping[str, str],
    others: Mapping[str, str],
    aliases: Mapping[str, str],
    prompt: str,
    is_named: bool,
    tmp_path: Path,
) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    only = "".join(f"{key} = {value}\n" for key, value in settings.items())
    only += "[chat]\nsave = false\n"
    more = only
    for name, backend in others.items():
        more += f'[providers.{name}]\nbase_url = "http://127.0.0.1:9"\nbackend = "{backend}"\n'
        more += 'api_key = "sk-other"\n'
    more += "[aliases]\n" + "".join(
        f'{alias} = "{name}"\n' for alias, name in aliases.items() if alias not in others
    )
    async with serve(fake_ollama) as server:
        alone = await asked(server, paths, only, prompt, is_named=is_named)
        beside = await asked(server, paths, more, prompt, is_named=is_named)
    assert (alone[0].body, alone[0].headers) == (beside[0].body, beside[0].headers)
    assert alone[1:] == beside[1:]
    assert "Finish" in alone[2]
