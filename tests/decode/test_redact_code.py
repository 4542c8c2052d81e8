"""In code nothing is taken for a key: a megabyte of it stays as it is."""

import sysconfig
from pathlib import Path

import pytest

from ollm_tui.decode.redact import redactor, without_private_keys
from ollm_tui.tools.builtin.guard import FileGuard

KEYS = [
    "sk-proj-Planted4711canary0815",
    "sk-ant-api03-Planted-canary-4711",
    "hf_PlantedCanary0815471142",
    "gsk_PlantedCanary08154711",
    "AIzaPlantedCanary08154711xyz",
]
MEGABYTE = 1_000_000


def code() -> list[tuple[str, str]]:
    """Return at least a megabyte of files of the standard library, by their names."""
    folder, texts, size = Path(sysconfig.get_paths()["stdlib"]), [], 0
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.append((path.name, text))
        size += len(text)
        if size > MEGABYTE:
            break
    assert size > MEGABYTE
    return texts


@pytest.mark.slow
def test_a_megabyte_of_code_has_no_false_hit() -> None:
    redact, guard = redactor(KEYS), FileGuard()
    for name, text in code():
        for clean in (redact, without_private_keys, guard.cleaned):
            assert clean(text) == text, f"{name} was changed by {clean}"
