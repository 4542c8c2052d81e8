"""The built-in engine makes embeddings with models that are made for them."""

from dataclasses import replace
from pathlib import Path

import gguf
import pytest

from ollm_tui.protocol.blocks import EmbeddingContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.embedded.plan import EnginePlan
from tests.support.engine import embedded, needs_engine
from tests.support.tiny_gguf import write_scripted

LONG = "many words " * 60
"""More tokens than llama.cpp has in one batch where nothing is said about it."""


@pytest.mark.engine
@needs_engine
async def test_the_engine_loads_an_embedding_model_and_makes_vectors(tmp_path: Path) -> None:
    write_scripted(tmp_path / "vectors.gguf", pooling=gguf.PoolingType.MEAN)
    write_scripted(tmp_path / "chat.gguf")
    texts = [TextContent(text) for text in ("hello there", "hello there", LONG)]
    options = GenerationOptions(keep_alive="1m", num_ctx=2048)
    request = Request(
        model="vectors", input=texts, output="embedding", stream=False, options=options
    )
    async with embedded(tmp_path) as (provider, supervisor):
        response = await provider.invoke(request)
        assert [engine.plan.context for engine in supervisor.engines] == [2048]
        with pytest.raises(AIError, match="chat makes no embeddings") as caught:
            await provider.invoke(
                Request(model="chat", input="a", output="embedding", stream=False)
            )
        with pytest.raises(AIError) as too_long:
            await provider.invoke(replace(request, input=LONG * 4))
        assert too_long.value.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        with pytest.raises(AIError, match="ollm embed"):
            await provider.invoke(
                Request(model="vectors", messages=[Message("user", "hi")], stream=False)
            )
    assert caught.value.code == ErrorCode.UNSUPPORTED_MODALITY
    assert isinstance(response, Response)
    first, same, other = response.content
    assert isinstance(first, EmbeddingContent)
    assert first == same != other
    assert first.dimensions > 100
    assert response.usage is not None
    assert response.usage.prompt_tokens == 2 * len("hello there") + len(LONG)


def test_llama_server_is_told_to_make_embeddings_with_room_for_a_whole_text() -> None:
    plan = EnginePlan(
        name="m",
        path=Path("/m.gguf"),
        context=700,
        program=Path("/bin/llama-server"),
        makes_embeddings=True,
    )
    told = plan.instructions()
    assert told["embeddings"] is True
    arguments = told["arguments"]
    assert isinstance(arguments, list)
    at = arguments.index("--embeddings")
    assert arguments[at + 1 : at + 5] == ["--batch-size", "700", "--ubatch-size", "700"]
