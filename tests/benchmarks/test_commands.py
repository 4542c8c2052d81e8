"""Commands that are measured: what they are given, and what is taken of them."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.terminal.commands import CODEX, LLM, PRINT, VERSION, own_ollm, run
from benchmarks.terminal.peers.place import own_command
from benchmarks.terminal.programs import OLLM
from benchmarks.terminal.run import Failed

pytestmark = pytest.mark.slow


def test_both_programs_get_the_same_prompt_and_never_the_same_twice() -> None:
    ours, theirs, again = PRINT.argv(OLLM), PRINT.argv(LLM), PRINT.argv(OLLM)
    assert ours[:-1] == [*own_ollm(), "--model", "local://fake:latest", "-p"]
    assert theirs[0] == own_command(LLM)
    prompts = {argv[-1] for argv in (ours, theirs, again)}
    assert len(prompts) == 3
    assert len({prompt.rpartition("id=")[0] for prompt in prompts}) == 1
    assert VERSION.argv(CODEX) == [own_command(CODEX), "--version"]


def test_the_first_byte_the_end_and_the_work_are_measured(tmp_path: Path) -> None:
    code = "import sys,time;print(1,flush=True);sum(range(10**6));time.sleep(0.02)"
    first, whole, used = run([sys.executable, "-Ic", code], dict(os.environ), tmp_path)
    assert 0 < first < whole
    assert used > 0


def test_a_command_that_fails_or_prints_nothing_is_named_with_its_reason(tmp_path: Path) -> None:
    for code, said in (("import sys;sys.exit('no such model')", "no such model"), ("", "failed")):
        with pytest.raises(Failed, match=said):
            run([sys.executable, "-Ic", code], dict(os.environ), tmp_path)
