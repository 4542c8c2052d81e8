"""Packages of engines delay no start: they are imported by the processes that use them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Start
from tests.support.isolation import guarded_path

pytestmark = pytest.mark.pty
PACKAGES = {
    "pywhispercpp": "pywhispercpp",
    "sherpa-onnx": "sherpa_onnx",
    "espeakng-loader": "espeakng_loader",
    "cyllama": "cyllama",
    "miniaudio": "miniaudio",
    "xllamacpp": "xllamacpp",
}
"""By the names of the extras' distributions, what is imported."""


def install_all(folder: Path, log: Path) -> None:
    """Install packages that write down who imports them."""
    for name, module in PACKAGES.items():
        (folder / module).mkdir(parents=True)
        code = f"open({str(log)!r}, 'a').write('{module}\\n')\n"
        (folder / module / "__init__.py").write_text(code)
        about = folder / f"{name.replace('-', '_')}-99.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 99.0\n")


def test_no_engine_is_imported_up_to_the_list_of_all_models(
    start: Start, home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "imported"
    install_all(tmp_path / "extras", log)
    (home / "data" / "ollm" / "models" / "ggml-tiny.bin").write_bytes(b"lmgg" + bytes(64))
    (home / "data" / "ollm" / "models" / "voice.onnx").write_bytes(bytes(64))
    path = f"{tmp_path / 'extras'}:{guarded_path()}"
    with start(home, env={"PYTHONPATH": path}, is_new=True) as session:
        session.wait_for("ready", timeout=40)
        session.write(b"\x1bOR")  # F3
        session.wait_for("ggml-tiny", timeout=20)
        session.write(b"\x1b")
        session.wait_for("ready", timeout=20)
        session.write(b"\x03\x03")
        assert session.exit_status() == 0
    assert not log.exists()
    program = f"import {', '.join(PACKAGES.values())}"
    subprocess.run([sys.executable, "-P", "-c", program], env={"PYTHONPATH": path}, check=True)
    assert log.read_text().split() == [*PACKAGES.values()], "they are those that would be imported"
