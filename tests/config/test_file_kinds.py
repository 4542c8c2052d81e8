"""Every kind of file in the place of every file that the program reads: nobody waits or fails."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest

from tests.config.file_kinds import KINDS, MAX_SECONDS, READERS
from tests.support.seeds import sampled

ROOT = Path(__file__).parents[2]
SLOWEST_LAST = sorted(KINDS, key="huge file".__eq__)

FailedReaders = Callable[[str], object]


@pytest.fixture(scope="module")
def failed_readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailedReaders]:
    folder = str(tmp_path_factory.mktemp("kinds"))
    with subprocess.Popen(
        [sys.executable, "-m", "tests.config.file_kinds"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": folder, "HOME": folder},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
    ) as program:

        def failed(kind: str) -> object:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(f"{kind}\n")
            timer = Timer(60 + MAX_SECONDS * len(READERS), os.killpg, (program.pid, 9))
            timer.start()
            try:
                return json.loads(program.stdout.readline())
            finally:
                timer.cancel()

        yield failed


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(SLOWEST_LAST, len(KINDS) - 1))
def test_a_file_of_this_kind_holds_up_no_reader(kind: str, failed_readers: FailedReaders) -> None:
    assert failed_readers(kind) == {}
