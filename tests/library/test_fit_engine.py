"""The memory that is worked out, beside what the real engine says it takes when it loads."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui.library.fit import ModelShape
from ollm_tui.library.fitting import cache_of, compute_of
from ollm_tui.library.gguf import read_header
from ollm_tui.library.shapes import shape_of_header
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import write_scripted

pytestmark = [pytest.mark.engine, needs_engine]

MIB = 1024 * 1024
STARTER = os.environ.get("SMOLLM2_GGUF", "")
LOAD = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], int(sys.argv[2]), 1
params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
params.warmup, params.offline, params.verbosity = False, True, 5
server = xllamacpp.Server(params)
os._exit(0)
"""


def reported(path: Path, context: int) -> tuple[float, float]:
    """Load a model, and give the bytes of its cache and compute buffer from the engine's log."""
    child = subprocess.run(
        [sys.executable, "-c", LOAD, str(path), str(context)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    log = child.stdout + child.stderr
    return _last(r"KV buffer size = +([0-9.]+) MiB", log), _last(
        r"compute buffer size = +([0-9.]+) MiB", log
    )


def _last(pattern: str, log: str) -> float:
    return float(re.findall(pattern, log)[-1]) * MIB


def shape_of(path: Path) -> ModelShape:
    return shape_of_header(read_header(path), path.stat().st_size)


def agree(path: Path, context: int) -> None:
    cache, compute = reported(path, context)
    shape = shape_of(path)
    assert cache_of(shape, context) == pytest.approx(cache, abs=MIB / 100)
    # The tiny model has no wide rows: a few MiB too many are nothing to a verdict.
    assert compute <= compute_of(shape, context) <= 2 * compute + 4 * MIB


@pytest.mark.parametrize("context", [512, 8192])
def test_the_tiny_models_memory_is_as_the_engine_says(tmp_path: Path, context: int) -> None:
    write_scripted(tmp_path / "m.gguf")
    agree(tmp_path / "m.gguf", context)


@pytest.mark.skipif(not Path(STARTER).is_file(), reason="SMOLLM2_GGUF names no file")
@pytest.mark.parametrize("context", [512, 4096, 8192])
def test_the_starter_models_memory_is_as_the_engine_says(context: int) -> None:
    agree(Path(STARTER), context)
