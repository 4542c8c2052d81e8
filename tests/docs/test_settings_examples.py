"""The settings in the guides, the reference and the example file are loaded without complaint."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.cli.settings import checked
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = ROOT / "config.example.toml"
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n"


def examples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")), 1):
            yield f"{page.relative_to(ROOT)}, {number}", block
    lines = EXAMPLE.read_text("utf-8").splitlines()
    is_setting = re.compile(r'# (\[[a-z]|"?[a-z_.]+"? = )')
    yield EXAMPLE.name, "\n".join(line[2:] for line in lines if is_setting.match(line))


EXAMPLES = dict(examples())


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppPaths:
    """A home that has what the examples name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = [tmp_path / name for name in ("config", "data", "state", "cache", "notes", "models")]
    for folder in folders:
        folder.mkdir()
    for name in ("ca.pem", "lab-ca.pem"):
        (tmp_path / "config" / name).write_text(CERTIFICATE)
    return AppPaths(*folders[:4])


def make_files(text: str, home: Path) -> None:
    """Make the files of models and schemas and the programs that a text names below the home."""
    for name in re.findall(
        r'"~/([^"]+(?:\.gguf|\.safetensors|\.jinja|\.json|/llama-server|/espeak-ng))"', text
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 15
    assert sum(len(EXAMPLES[name].splitlines()) for name in ("config.example.toml",)) > 60


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_loaded_without_complaint(name: str, paths: AppPaths) -> None:
    text = EXAMPLES[name]
    make_files(text, paths.config_dir.parent)
    paths.config_file.write_text(text)
    paths.config_file.chmod(0o600)
    variables = {*re.findall(r"\$\{(\w+)\}", text), *re.findall(r'_env = "(\w+)"', text)}
    loaded = load_config(paths, dict.fromkeys(variables, "given"))
    assert [str(problem) for problem in checked(loaded, paths)] == []
    assert loaded.origins or not text.strip()
