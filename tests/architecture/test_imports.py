"""What importing a layer really loads: the static contracts cannot see whether a lazy import is."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ollm_tui"
HEADLESS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if "tui" not in path.relative_to(PACKAGE).parts[:1]
    and path.name not in {"__main__.py", "child.py"}
)


def loaded_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter and give the top-level modules it loaded."""
    code = f"{statement}\nimport sys\nprint('\\n'.join({{n.split('.')[0] for n in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


ENGINES = {
    "xllamacpp",
    "pywhispercpp",
    "_pywhispercpp",
    "sherpa_onnx",
    "espeakng_loader",
    "cyllama",
}
ENGINES |= {"miniaudio", "numpy"}


def test_no_headless_module_loads_the_terminal_library_or_an_engine() -> None:
    # Not asserted of rich: httpx loads it for its own command line, which `ollm` keeps from it.
    statement = "\n".join(f"import {name}" for name in HEADLESS)
    assert loaded_after(statement) & {"textual", *ENGINES} == set()


@pytest.mark.parametrize("package", ["protocol", "decode"])
def test_the_vocabulary_and_the_decoders_load_the_standard_library_only(package: str) -> None:
    names = [name for name in HEADLESS if name.startswith(f"ollm_tui.{package}")]
    loaded = loaded_after("\n".join(f"import {name}" for name in names))
    assert loaded & {"httpx", "anyio", "pydantic", "platformdirs", "tomlkit"} == set()


def test_a_runtime_on_its_way_loads_neither_settings_nor_http() -> None:
    loaded = loaded_after("import ollm_tui.runtime.opening")
    assert loaded & {"httpx", "pydantic", "pydantic_settings", "tomlkit"} == set()
