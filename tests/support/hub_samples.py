"""What a loopback hub holds unless told otherwise: one repository of each sort.

python -m tests.support.hub_samples --port 8090 --speed 2000000
HF_ENDPOINT=http://127.0.0.1:8090 ollm
"""

import argparse
import tempfile
from functools import cache
from pathlib import Path

import anyio

from tests.support.fake_hub import FakeHub, serve_hub
from tests.support.hub_repos import FakeFile, FakeRepo

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


def gguf_facts(architecture: str, parameters: int, context: int) -> dict[str, object]:
    """Give what a hub read from a header."""
    return {
        "total": parameters,
        "architecture": architecture,
        "context_length": context,
        "chat_template": "{{ messages }}",
        "bos_token": "<s>",
        "eos_token": "</s>",
    }


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
    seeing = FakeFile("mmproj-Seeing-4B-F16.gguf", pattern=(size // 4, 30))
    large = shards_of("Q4_K_M/Large-70B-Q4_K_M", 3, size)
    large += shards_of("Q8_0/Large-70B-Q8_0", 4, size, 200)
    whisper = [
        FakeFile("ggml-base.bin", pattern=(size, 50)),
        FakeFile("ggml-base-q5_1.bin", pattern=(size // 2, 51)),
    ]
    return [
        FakeRepo(
            "someone/Small-1.7B-GGUF",
            [README, *files_of("Small-1.7B", size)],
            downloads=54_321,
            likes=321,
            gguf=gguf_facts("qwen3", 1_720_574_976, 40_960),
        ),
        FakeRepo(
            "someone/Scripted-GGUF",
            [README, FakeFile("Scripted-Q8_0.gguf", scripted_model())],
            downloads=12_000,
            gguf=gguf_facts("llama", 251_000, 32_768),
        ),
        FakeRepo(
            "someone/Seeing-4B-GGUF",
            [README, *files_of("Seeing-4B", size, 20), seeing],
            downloads=9_000,
            tags=("gguf", "image-text-to-text"),
            licence="gemma",
            gguf=gguf_facts("gemma3", 3_880_099_328, 131_072),
        ),
        FakeRepo(
            "another/Large-70B-GGUF",
            [README, *large],
            downloads=7_000,
            licence="llama3.1",
            gguf=gguf_facts("llama", 70_553_706_496, 131_072),
        ),
        FakeRepo(
            "another/Gated-8B-GGUF",
            [README, *files_of("Gated-8B", size, 40)],
            downloads=5_000,
            licence="other",
            gated="manual",
            gguf=gguf_facts("llama", 8_030_261_248, 131_072),
        ),
        FakeRepo(
            "someone/whisper.cpp",
            [README, *whisper],
            downloads=4_000,
            licence="mit",
            tags=("whisper", "automatic-speech-recognition"),
        ),
        FakeRepo("someone/Secret-GGUF", files_of("Secret", size, 60), private=True),
    ]


def sample_hub(size: int = 300_000) -> FakeHub:
    may = frozenset({"another/Gated-8B-GGUF", "someone/Secret-GGUF"})
    return FakeHub(sample_repos(size), tokens={TOKEN: may})


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.hub_samples")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--size", type=int, default=20_000_000, help="bytes of a middling file")
    parser.add_argument("--speed", type=int, default=0, help="bytes per second of each file")
    parser.add_argument("--cut-after", type=int, help="bytes after which each file breaks off")
    asked = parser.parse_args()
    hub = sample_hub(asked.size)
    hub.cut_after = asked.cut_after
    if asked.speed:
        hub.pace = lambda count: count / asked.speed
    async with serve_hub(hub, port=asked.port):
        print(f"{hub.url}\n(files from {hub.files_url}; the token is {TOKEN})", flush=True)  # noqa: T201
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main)
