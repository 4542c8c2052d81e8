"""Files of models that draw: a whole tiny one, and files that are no more than their headers.

The tiny one is a model of the family MiniT2I, written by hand, for the real engine. It paints the
colour that the prompt names, red, green or blue, all over; without one it shows the noise of the
seed.
"""

import json
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

WORDS, WIDTH = 32128, 8
"""Of the text encoder (T5)."""
NET, INNER, PATCH = 64, 64, 16
"""Of the diffusion transformer, with one head."""
NOISE = 5
"""Where it keeps the noise of each patch, which a colour drowns."""
COLOURS: Final = {1131: (1, 0, 0), 1442: (0, 1, 0), 1692: (0, 0, 1)}
"""The tokens of " red", " green" and " blue"."""
_TEXT: Final = "text_encoders.t5xxl.transformer."
_NET: Final = "model.diffusion_model.model.net."
WHY_NO_ENGINE: Final = (
    None
    if find_spec("cyllama")
    else "the package cyllama is not installed, which needs Python 3.12"
)
SD1: Final = (
    "model.diffusion_model.input_blocks.0.0.weight",
    "model.diffusion_model.output_blocks.0.0.in_layers.0.weight",
    "first_stage_model.decoder.conv_in.weight",
    "cond_stage_model.transformer.text_model.encoder.layers.0.layer_norm1.weight",
)
FLUX: Final = ("double_blocks.0.img_attn.qkv.weight", "single_blocks.0.linear1.weight")
VAE: Final = ("decoder.conv_in.weight", "encoder.conv_in.weight")
CLIP_L: Final = ("text_model.encoder.layers.0.layer_norm1.weight",)
T5XXL: Final = ("encoder.block.0.layer.0.SelfAttention.q.weight",)
LANGUAGE: Final = ("model.layers.0.self_attn.q_proj.weight", "lm_head.weight")


def safetensors(tensors: Mapping[str, tuple[str, Sequence[int], bytes]]) -> bytes:
    """Return a file with these tensors: type, shape and bytes by name."""
    head, body = {}, bytearray()
    for name, (kind, shape, data) in tensors.items():
        ends = [len(body), len(body) + len(data)]
        head[name] = {"dtype": kind, "shape": [*shape], "data_offsets": ends}
        body += data
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(body)


def put_names(path: Path, names: Iterable[str]) -> Path:
    """Write a file whose tensors have these names and one number each."""
    path.write_bytes(safetensors({name: ("F16", [1], b"\0\0") for name in names}))
    return path


def put_pickle(path: Path, names: Iterable[str]) -> Path:
    """Write a checkpoint of PyTorch with these names, which no program could load."""
    text = b"".join(b"X" + struct.pack("<I", len(name)) + name.encode() + b"q\0" for name in names)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}" + text + b".")
    return path


def put_tiny(folder: Path, name: str = "tiny.safetensors") -> Path:
    """Write the tiny model."""
    path = folder / name
    path.write_bytes(tiny())
    return path


@cache
def tiny() -> bytes:
    """Return the file of the tiny model."""
    tensors = dict([*_text_encoder(), *_network()])
    return safetensors(
        {
            name: ("F16" if array.dtype.itemsize == 2 else "F32", array.shape, array.tobytes())
            for name, array in tensors.items()
        }
    )


def _zeros(*shape: int) -> Any:
    import numpy as np

    return np.zeros(shape, np.float16)


def _numbers(length: int, value: float = 0.0) -> Any:
    import numpy as np

    return np.full((length,), value, np.float32)


def _text_encoder() -> Iterable[tuple[str, Any]]:
    words = _zeros(WORDS, WIDTH)
    words[:, 3] = 1
    for token, colour in COLOURS.items():
        words[token, :3] = colour
        words[token, 3:5] = (0, 1)
    yield f"{_TEXT}shared.weight", words
    block = f"{_TEXT}encoder.block.0."
    for name in "qkv":
        yield f"{block}layer.0.SelfAttention.{name}.weight", _zeros(INNER, WIDTH)
    yield f"{block}layer.0.SelfAttention.o.weight", _zeros(WIDTH, INNER)
    yield f"{block}layer.0.SelfAttention.relative_attention_bias.weight", _zeros(32, 1)
    for number in (0, 1):
        yield f"{block}layer.{number}.layer_norm.weight", _numbers(WIDTH, 1)
    for name in ("wi_0", "wi_1", "wo"):
        yield f"{block}layer.1.DenseReluDense.{name}.weight", _zeros(WIDTH, WIDTH)
    yield f"{_TEXT}encoder.final_layer_norm.weight", _numbers(WIDTH, 1)


def _network() -> Iterable[tuple[str, Any]]:
    sums, noise = _zeros(WIDTH, 3, PATCH, PATCH), _zeros(NET, WIDTH, 1, 1)
    sums[0, 0] = 0.01
    noise[NOISE, 0] = 1
    yield f"{_NET}img_embedder.proj1.weight", sums
    yield f"{_NET}img_embedder.proj2.weight", noise
    yield f"{_NET}img_embedder.proj2.bias", _numbers(NET)
    texts = _zeros(NET, WIDTH)
    for number in range(5):
        texts[number, number] = 1
    yield f"{_NET}txt_embedder.weight", texts
    yield f"{_NET}t_embedder.mlp.0.weight", _zeros(WIDTH, 256)
    yield f"{_NET}t_embedder.mlp.2.weight", _zeros(WIDTH, WIDTH)
    for number in (0, 2):
        yield f"{_NET}t_embedder.mlp.{number}.bias", _numbers(WIDTH)
    yield f"{_NET}pooled_embedder.weight", _zeros(WIDTH, WIDTH)
    mask = _numbers(WIDTH).reshape(1, 1, WIDTH)
    mask[..., 3] = 1
    yield f"{_NET}mask_token", mask
    yield from _preamble(f"{_NET}txt_preamble_blocks.0.")
    yield from _double_block(f"{_NET}double_blocks.0.")
    yield f"{_NET}final_layer.norm_final.weight", _numbers(NET, 1)
    last = _zeros(PATCH * PATCH * 3, NET)
    for pixel in range(PATCH * PATCH):
        for channel in range(3):
            last[pixel * 3 + channel, channel] = 0.5
            last[pixel * 3 + channel, 3] = -0.25
            last[pixel * 3 + channel, NOISE] = 0.05
    yield f"{_NET}final_layer.linear.weight", last
    yield f"{_NET}final_layer.linear.bias", _numbers(PATCH * PATCH * 3)


def _mlp(prefix: str) -> Iterable[tuple[str, Any]]:
    inner = (int(NET * 2.6667) + 7) // 8 * 8
    for name in ("w1", "w3"):
        yield f"{prefix}{name}.weight", _zeros(inner, NET)
    yield f"{prefix}w2.weight", _zeros(NET, inner)


def _preamble(prefix: str) -> Iterable[tuple[str, Any]]:
    for name, length in (("norm1", NET), ("norm2", NET), ("q_norm", INNER), ("k_norm", INNER)):
        yield f"{prefix}{name}.weight", _numbers(length, 1)
    yield f"{prefix}qkv.weight", _zeros(3 * INNER, NET)
    yield f"{prefix}qkv.bias", _numbers(3 * INNER)
    yield f"{prefix}attn_proj.weight", _zeros(NET, INNER)
    yield f"{prefix}attn_proj.bias", _numbers(NET)
    yield from _mlp(f"{prefix}mlp.")


def _double_block(prefix: str) -> Iterable[tuple[str, Any]]:
    """Every place of the picture asks for colour words, which answer with their colour."""
    for name in ("img_norm1", "img_norm2", "txt_norm1", "txt_norm2"):
        yield f"{prefix}{name}.weight", _numbers(NET, 1)
    yield f"{prefix}q_norm.weight", _numbers(INNER, 4)
    yield f"{prefix}k_norm.weight", _numbers(INNER, 1)
    for side in ("img", "txt"):
        weight, bias = _zeros(3 * INNER, NET), _numbers(3 * INNER)
        bias[62] = bias[63] = 1
        output = _zeros(NET, INNER)
        if side == "txt":
            keys, values = weight[INNER : 2 * INNER], weight[2 * INNER :]
            keys[62, 4] = keys[63, 4] = 1
            keys[60, 3] = keys[61, 3] = 1
            for number in range(3):
                values[number, number] = 1
            values[3, 4] = 1
        else:
            bias[INNER + 60] = bias[INNER + 61] = 1
            for number in range(4):
                output[number, number] = 20
        yield f"{prefix}{side}_qkv.weight", weight
        yield f"{prefix}{side}_qkv.bias", bias
        yield f"{prefix}{side}_attn_proj.weight", output
        yield f"{prefix}{side}_attn_proj.bias", _numbers(NET)
        yield from _mlp(f"{prefix}{side}_mlp.")
