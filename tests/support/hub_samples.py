"""What a loopback hub holds unless told otherwise: one repository of each sort."""

import tempfile
from functools import cache
from pathlib import Path

from tests.support.fake_hub import FakeHub
from tests.support.hub_repos import STORED, FakeFile, FakeRepo

TOKEN = "hf_loopback"
"""Sees the private repository and, its terms accepted, the gated one."""
QUANTIZATIONS = {"Q8_0": 8.5, "Q6_K": 6.56, "Q5_K_M": 5.69, "Q4_K_M": 4.89, "IQ3_XXS": 3.06}
README = FakeFile("README.md", b"# A model\n\nOf no use.\n", lfs=False)


def files_of(stem: str, size: int, seed: int = 0) -> list[FakeFile]:
    """Give a file of each quantization; `size` is that of `Q8_0`."""
    return [
        FakeFile(f"{stem}-{name}.gguf", pattern=(int(size * bits / 8.5), seed + place))
        for place, (name, bits) in enumerate(QUANTIZATIONS.items())
    ]


def shards_of(stem: str, count: int, size: int, seed: int = 100) -> list[FakeFile]:
    """Give a model in parts, each of this size but the last, which is half of it."""
    return [
        FakeFile(
            f"{stem}-{part:05}-of-{count:05}.gguf",
            pattern=(size if part < count else size // 2, seed + part),
        )
        for part in range(1, count + 1)
    ]


@cache
def scripted_model() -> bytes:
    """Give the bytes of the tiny model, which a real engine can run."""
    # Imported here: only who wants the model needs what writes it.
    from tests.support.tiny_gguf import write_scripted

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scripted.gguf"
        write_scripted(path)
        return path.read_bytes()


def sample_repos(size: int = 300_000) -> list[FakeRepo]:
    """Give the repositories; `size` is that of one middling file."""
    large = shards_of("Q4_K_M/Large-70B-Q4_K_M", 3, size)
    files = {
        "someone/Small-1.7B-GGUF": files_of("Small-1.7B", size),
        "someone/Scripted-GGUF": [FakeFile("Scripted-Q8_0.gguf", scripted_model())],
        "someone/Seeing-4B-GGUF": [
            *files_of("Seeing-4B", size, 20),
            FakeFile("mmproj-Seeing-4B-F16.gguf", pattern=(size // 4, 30)),
        ],
        "another/Large-70B-GGUF": large + shards_of("Q8_0/Large-70B-Q8_0", 4, size, 200),
        "another/Gated-8B-GGUF": files_of("Gated-8B", size, 40),
        "someone/whisper.cpp": [
            FakeFile("ggml-base.bin", pattern=(size, 50)),
            FakeFile("ggml-base-q5_1.bin", pattern=(size // 2, 51)),
        ],
    }
    described = STORED["samples"]
    repos = [FakeRepo(name, [README, *files[name]], **described[name]) for name in files]
    return [*repos, FakeRepo("someone/Secret-GGUF", files_of("Secret", size, 60), private=True)]


def sample_hub(size: int = 300_000) -> FakeHub:
    may = frozenset({"another/Gated-8B-GGUF", "someone/Secret-GGUF"})
    return FakeHub(sample_repos(size), tokens={TOKEN: may})
