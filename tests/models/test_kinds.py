"""The kinds of models that do not chat are told by one table."""

import re
from pathlib import Path

import pytest

import ollm_tui
from ollm_tui.models.kinds import kind_table

NAMES = {
    "whisper": ["whisper-large-v3", "gpt-4o-mini-transcribe", "nvidia/parakeet-tdt"],
    "image": ["stable-diffusion-3.5", "stablediffusion", "FLUX.1-dev", "dall-e-3", "gpt-image-1"],
    "speech": ["tts-1", "Kokoro-82M", "piper-en", "speecht5"],
    "embedding": ["nomic-embed-text", "text-embedding-3-small", "EmbeddingGemma"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_tell_the_kind_and_no_chat_model_is_taken_for_one(kind: str) -> None:
    table = kind_table()
    assert all(table.is_named(name, kind) for name in NAMES[kind])
    for name in ("qwen3:8b", "gpt-5", "llama3.2", "my" + " " * 300 + NAMES[kind][0]):
        assert not table.is_named(name, kind)


def test_files_tell_the_kind_by_architecture_title_or_encoder() -> None:
    table = kind_table()
    assert table.of_architecture("qwen_image") == "image"
    assert table.of_architecture("qwen3") is None
    assert table.of_title("Qwen3-Reranker-0.6B embedding") == "reranker"
    assert table.of_title("Qwen3 Embedding 8B") == "embedding"
    assert table.of_title("Bedding") is None
    assert table.of_encoder("nomic-bert") == "embedding"
    assert [bool(table.without_cache.search(one)) for one in ("bge-m3", "my-bge", "llama")] == [
        *(True, False, False)
    ]
    assert table.not_chat_at_openai.search("gpt-5-pro") is not None
    assert table.not_chat_at_openai.search("gpt-5-professional") is None


def test_no_module_names_such_models_itself() -> None:
    """The words below belong in the table; names of tensors say them, too."""
    words = re.compile(r"""r?["'][^"'\n]*(?:parakeet|sdxl|dall-e|babbage|mxbai|wavtokenizer)""")
    root = Path(ollm_tui.__file__).parent
    named = [
        str(one.relative_to(root))
        for one in root.rglob("*.py")
        if words.search(one.read_text("utf-8"))
    ]
    assert named == ["models/checkpoints.py"]
