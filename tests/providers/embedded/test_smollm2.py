"""The starter model in the real engine, where it is at hand: set SMOLLM2_GGUF to its file."""

import os
import time
from pathlib import Path

import pytest

from ollm_tui.library.starter import STARTER
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.request import GenerationOptions
from tests.providers.answers import answer, end_of, text_of
from tests.support.engine import ask, embedded, needs_engine

WHERE = os.environ.get("SMOLLM2_GGUF", "")

pytestmark = [
    pytest.mark.engine,
    needs_engine,
    pytest.mark.skipif(not Path(WHERE).is_file(), reason="SMOLLM2_GGUF names no file"),
]


async def test_the_starter_model_is_ready_in_two_seconds_and_answers(tmp_path: Path) -> None:
    model = Path(STARTER.file_name).stem
    (tmp_path / STARTER.file_name).symlink_to(WHERE)
    request = ask("Say hello.", model=model, options=GenerationOptions(max_tokens=20))
    async with embedded(tmp_path) as (provider, _):
        started = time.monotonic()
        await provider.load_model(model)
        assert time.monotonic() - started < 2
        events = await answer(provider, request)
    assert isinstance(end_of(events), Finish)
    assert text_of(events).strip()
