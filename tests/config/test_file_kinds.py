"""Every kind of file in the place of every file that the program reads: nobody waits or fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.file_kinds import KINDS, MOST_S, READERS
from tests.support.seeds import sampled

ROOT = Path(__file__).parents[2]
SLOWEST_LAST = sorted(KINDS, key="huge file".__eq__)


@pytest.mark.parametrize("kind", sampled(SLOWEST_LAST, len(KINDS) - 1))
def test_a_file_of_this_kind_holds_up_no_reader(kind: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.config.file_kinds", kind],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60 + MOST_S * len(READERS),
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {}
