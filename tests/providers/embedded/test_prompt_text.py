"""The built-in engine tells the prompt that its model gets."""

from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import SupportsPromptText
from ollm_tui.protocol.signals import AbortSignal
from tests.support.engine import ask, embedded, needs_engine
from tests.support.tiny_gguf import BOS, IM_END

pytestmark = [pytest.mark.engine, needs_engine]


async def test_the_engine_tells_the_text_its_tokens_and_its_variables(model_folder: Path) -> None:
    stopped = AbortSignal()
    stopped.abort()
    async with embedded(model_folder) as (provider, _):
        assert isinstance(provider, SupportsPromptText)
        prompt = await provider.prompt_text(ask("hi"))
        assert prompt.text.startswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
        assert prompt.tokens is not None
        texts = [token.text for token in prompt.tokens]
        assert "".join(texts).removeprefix(BOS) == prompt.text
        assert len(prompt.tokens) == await provider.count_tokens(ask("hi"))
        assert prompt.variables == {"bos_token": BOS, "eos_token": IM_END}
        with pytest.raises(AIError) as caught:
            await provider.prompt_text(ask("hi", signal=stopped))
        assert caught.value.code == ErrorCode.ABORTED
