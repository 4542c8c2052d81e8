"""Rebuild the rank files of `ollm_tui/tokens/ranks`, and check them.

python -m scripts.make_ranks

Needs the packages `tiktoken` and `bpe-openai` (0.1.4), which carries the files that tiktoken would
fetch. Patterns and sums are taken from tiktoken itself; a file with another sum is refused.
"""

import gzip
import hashlib
import json
import lzma
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from unittest.mock import patch

from tiktoken_ext import openai_public

FOLDER = Path(__file__).resolve().parents[1] / "ollm_tui" / "tokens" / "ranks"
NAMES = ("cl100k_base", "o200k_base")
SOURCE = "bpe-openai"
STRONGEST = 9 | lzma.PRESET_EXTREME


def main() -> int:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    known = {name: described(name) for name in NAMES}
    for name, facts in known.items():
        ranks = packed(name)
        if hashlib.sha256(ranks).hexdigest() != facts["sha256"]:
            print(f"{name}: the sum of the file in {SOURCE} is not tiktoken's", file=sys.stderr)
            return 1
        path = FOLDER / f"{name}.tiktoken.xz"
        path.write_bytes(lzma.compress(ranks, preset=STRONGEST))
        print(f"{path.name}: {len(ranks)} bytes in {path.stat().st_size}")
    (FOLDER / "encodings.json").write_text(json.dumps(known, indent=2) + "\n", "utf-8")
    return 0


def described(name: str) -> Mapping[str, str]:
    """Ask tiktoken how it splits text and which file it expects, without letting it fetch one."""
    sums: list[str] = []

    def note(_url: str, expected_hash: str) -> dict[bytes, int]:
        sums.append(expected_hash)
        return {}

    with patch.object(openai_public, "load_tiktoken_bpe", note):
        pattern = getattr(openai_public, name)()["pat_str"]
    return {"pattern": pattern, "sha256": sums[0]}


def packed(name: str) -> bytes:
    """Return the rank file out of the package."""
    path = distribution(SOURCE).locate_file(f"bpe_openai/data/{name}.tiktoken.gz")
    return gzip.decompress(Path(str(path)).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
