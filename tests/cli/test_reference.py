"""The pages made from the code are the ones in the repository."""

import tomllib
from pathlib import Path

import pytest

from ollm_tui.cli.reference import main, pages
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.provider_settings import HubSettings, ModelSettings, ProviderSettings
from ollm_tui.config.schema import (
    AppConfig,
    ChatSettings,
    EmbeddedConfig,
    GenerationSettings,
    ProfileSettings,
    UiSettings,
)
from ollm_tui.config.tables.extra_settings import ToolSettings
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from tests.docs.test_settings_examples import make_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", pages())
def test_a_page_is_up_to_date(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run `python -m ollm_tui.cli.reference`"


def test_an_installed_package_has_the_manual_page_and_the_completions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared.keys() <= pages().keys()
    assert set(shared.values()) == {
        "share/man/man1/ollm.1",
        "share/bash-completion/completions/ollm",
        "share/zsh/site-functions/_ollm",
        "share/fish/vendor_completions.d/ollm.fish",
    }
    assert pages()["docs/reference/zsh/_ollm"].startswith("#compdef ollm ")


def test_check_names_a_page_that_is_out_of_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "docs/reference/cli.md").write_text("old")
    assert main(["--check", str(tmp_path)]) == 1
    assert "cli.md is out of date" in capsys.readouterr().err


def uncommented() -> str:
    lines = (ROOT / "config.example.toml").read_text(encoding="utf-8").splitlines()
    code = (line.removeprefix("# ") for line in lines if line.startswith("# "))
    return "\n".join(line for line in code if line.startswith(("[", '"')) or " = " in line)


def test_the_example_as_it_is_changes_nothing(tmp_path: Path) -> None:
    paths = AppPaths(ROOT, tmp_path, tmp_path, tmp_path)
    loaded = load_config(paths, {"OLLM_CONFIG": str(ROOT / "config.example.toml")})
    assert (loaded.all_problems, loaded.origins) == ((), {})


def test_the_example_without_its_marks_holds_every_key_and_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(uncommented())
    file.chmod(0o600)
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
    for folder in ("notes", "models"):
        (tmp_path / folder).mkdir()
    make_files(file.read_text(), tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = AppPaths(tmp_path, tmp_path, tmp_path, tmp_path)
    loaded = load_config(paths, {"WORK_KEY": "k", "WORK_HF_TOKEN": "t"})
    assert loaded.all_problems == ()
    values = tomllib.loads(file.read_text())
    assert set(values) == set(AppConfig.declared())
    for table, model in (
        (values["ui"], UiSettings),
        (values["options"], GenerationSettings),
        (values["embedded"], EmbeddedConfig),
        (values["providers"]["work"], ProviderSettings),
        (values["hub"], HubSettings),
        (values["tools"], ToolSettings),
        (values["chat"], ChatSettings),
        (values["models"]["embedded://qwen3-8b"], ModelSettings),
        (values["mcp_servers"]["time"], McpServerSettings),
    ):
        keys = {one.key for one in model.declared().values()}
        assert set(table) == keys


def test_what_the_example_shows_as_a_default_is_the_default(tmp_path: Path) -> None:
    kept = [line for line in uncommented().splitlines() if not line.endswith("# for example")]
    file = tmp_path / "config.toml"
    file.write_text("\n".join(line for line in kept if '"chat.models"' not in line))
    paths = AppPaths(tmp_path, tmp_path, tmp_path, tmp_path)
    config = load_config(paths, {}).config
    ours, plain = config.to_dict(), AppConfig().to_dict()
    assert ours.pop("providers").pop("work") == ProviderSettings().to_dict()
    assert ours.pop("models").pop("embedded://qwen3-8b") == ModelSettings().to_dict()
    assert ours.pop("profiles").pop("coding") == ProfileSettings().to_dict()
    assert ours.pop("mcp_servers").pop("time") == McpServerSettings().to_dict()
    for name in ("providers", "models", "profiles", "mcp_servers"):
        plain.pop(name)
    assert ours == plain
