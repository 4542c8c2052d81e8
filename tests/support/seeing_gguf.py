"""A tiny model with a projector, written by hand: the real engine says what colour a picture has.

The projector averages the colours of each patch. One attention head of the model looks at the rows
of the picture alone and copies their colour, and the output matrix names the strongest. Without a
picture it says that it sees nothing.
"""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.support.tiny_gguf import IM_END, Vocabulary, add_tokenizer, spell

WORDS = ("I see red.", "I see green.", "I see blue.")
NOTHING = "I see nothing."
WIDTH, PATCH, SIZE, PATCHES = 64, 16, 32, 4
"""The picture is scaled to 32 pixels, which are four patches."""
OTHER, START, FIRST_WORD, MARKER, COLOUR, READ = 0, 1, 2, 8, 9, 12
"""Dimensions: of ordinary tokens, of the start of a reply, of each word, of a picture's rows, of
their three colours, and of the colours that the head has read."""
ANSWER = "<|say:colour|>"
TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}" + ANSWER
UNTURNED = 62
"""The dimension of a head that its place in the text turns least."""


def write_seeing(model: Path, projector: Path, *, width: int = WIDTH) -> None:
    """Write both files; another width of the rows than the model's does not fit it."""
    _write_model(model)
    _write_projector(projector, width)


def write_lora(path: Path) -> None:
    """Write an adapter with which the model says that it sees red, whatever it sees."""
    vocabulary, words = _vocabulary()
    size = len(vocabulary.tokens)
    down, up = np.zeros((1, WIDTH)), np.zeros((size, 1))
    down[0, START], up[words[0], 0] = 1, 1000
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 1.0)
    writer.add_tensor("output.weight.lora_a", down.astype(np.float32))
    writer.add_tensor("output.weight.lora_b", up.astype(np.float32))
    _write(writer)


def _vocabulary() -> tuple[Vocabulary, list[int]]:
    vocabulary = Vocabulary()
    vocabulary.add(ANSWER, gguf.TokenType.CONTROL)
    words = [vocabulary.add(spell(word), gguf.TokenType.NORMAL) for word in (*WORDS, NOTHING)]
    return vocabulary, words


def _write_model(path: Path) -> None:
    vocabulary, words = _vocabulary()
    start, size = vocabulary.ids[ANSWER], len(vocabulary.tokens)
    embedding, output = np.zeros((size, WIDTH)), np.zeros((size, WIDTH))
    embedding[:, OTHER] = 0.5
    for slot, token in ((START, start), *enumerate(words, FIRST_WORD)):
        embedding[token], embedding[token, slot] = 0, 1
    for slot, token in enumerate(words[:3], READ):
        output[token, slot] = 20
    output[words[3], START] = 10
    output[vocabulary.ids[IM_END], FIRST_WORD : FIRST_WORD + len(words)] = 100
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer, size)
    add_tokenizer(writer, vocabulary, TEMPLATE)
    heads = _attention()
    _add(writer, "token_embd", embedding)
    _add(writer, "output_norm", np.ones(WIDTH))
    _add(writer, "output", output)
    for name in ("attn_norm", "ffn_norm"):
        _add(writer, f"blk.0.{name}", np.ones(WIDTH))
    for name, values in heads.items():
        _add(writer, f"blk.0.{name}", values)
    for name in ("ffn_gate", "ffn_up", "ffn_down"):
        _add(writer, f"blk.0.{name}", np.zeros((WIDTH, WIDTH)))
    _write(writer)


def _attention() -> dict[str, NDArray[np.float64]]:
    """One head: the start of a reply looks at a picture's rows, and reads their colours."""
    names = ("attn_q", "attn_k", "attn_v", "attn_output")
    query, key, value, result = (np.zeros((WIDTH, WIDTH)) for _ in names)
    query[UNTURNED, START], key[UNTURNED, MARKER] = 4, 1
    for n in range(3):
        value[n, COLOUR + n] = result[READ + n, n] = 1
    return dict(zip(names, (query, key, value, result), strict=True))


def _describe(writer: gguf.GGUFWriter, size: int) -> None:
    writer.add_name("tiny-seeing")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _write_projector(path: Path, width: int) -> None:
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    numbers = {
        "image_size": SIZE,
        "patch_size": PATCH,
        "embedding_length": WIDTH,
        "feed_forward_length": WIDTH,
        "block_count": 1,
        "projection_dim": width,
        "attention.head_count": 1,
    }
    for key, number in numbers.items():
        writer.add_uint32(f"clip.vision.{key}", number)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [0.0, 0.0, 0.0])
    writer.add_array("clip.vision.image_std", [1.0, 1.0, 1.0])
    _add_encoder(writer)
    # GELU leaves large numbers as they are.
    large = 10.0
    rows, bias = np.zeros((width, WIDTH)), np.zeros(width)
    for n in range(3):
        rows[COLOUR + n, n], bias[COLOUR + n] = 1, -large
    bias[MARKER] = 1
    _add(writer, "mm.0", np.eye(WIDTH), np.full(WIDTH, large))
    _add(writer, "mm.2", rows, bias)
    _write(writer)


def _add_encoder(writer: gguf.GGUFWriter) -> None:
    """Add an encoder that leaves the mean colour of each patch as it is."""
    patches = np.zeros((WIDTH, 3, PATCH, PATCH))
    for n in range(3):
        patches[n, n] = 1 / PATCH**2
    _add(writer, "v.patch_embd", patches)
    _add(writer, "v.position_embd", np.zeros((PATCHES, WIDTH)))
    for name in ("attn_q", "attn_k", "attn_v", "attn_out", "ffn_up", "ffn_down"):
        _add(writer, f"v.blk.0.{name}", np.zeros((WIDTH, WIDTH)), np.zeros(WIDTH))
    for name in ("ln1", "ln2"):
        _add(writer, f"v.blk.0.{name}", np.ones(WIDTH), np.zeros(WIDTH))


def _add(
    writer: gguf.GGUFWriter,
    name: str,
    weight: NDArray[np.float64],
    bias: NDArray[np.float64] | None = None,
) -> None:
    writer.add_tensor(f"{name}.weight", weight.astype(np.float32))
    if bias is not None:
        writer.add_tensor(f"{name}.bias", bias.astype(np.float32))


def _write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
