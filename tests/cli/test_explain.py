"""`ollm models explain`: family, steps, and the origin of each value."""

import json
from pathlib import Path

import pytest

from ollm_tui.cli import main
from tests.cli.conftest import Run
from tests.support.tiny_gguf import write_scripted


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file with settings beside it, a family of the user, and a settings file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    families = tmp_path / "config" / "ollm" / "families"
    families.mkdir(parents=True)
    (tmp_path / "files").mkdir()
    write_scripted(tmp_path / "files" / "qwen3-tiny.gguf")
    settings = f'[embedded]\nmodel_folders = ["{tmp_path / "files"}"]\n[options]\ntop_k = 7\n'
    (tmp_path / "config" / "ollm" / "config.toml").write_text(settings)
    beside = "systemPrompt: Be brief.\nparameters: {temperature: 0.1}\n"
    (tmp_path / "files" / "qwen3-tiny.config.yaml").write_text(beside)
    return tmp_path


def test_every_value_has_its_origin_and_what_it_replaced(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "explain", "embedded://qwen3-tiny", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["family"], told["variant"], told["extends"]) == ("Qwen", "qwen3", ["ChatML"])
    assert (told["tools"], told["thinking"]["modes"]) == ("native", ["deep", "off"])
    assert told["parameters_sent"] is True
    settings = {one["name"]: one for one in told["settings"]}
    by_family = settings["temperature"]["instead_of"][0]
    assert settings["temperature"]["value"] == "0.1"
    assert settings["temperature"]["source"] == (
        "the settings beside the file (qwen3-tiny.config.yaml:2)"
    )
    assert by_family["value"] == "0.6"
    assert by_family["source"].startswith("the family Qwen, variant qwen3 (qwen.yaml:")
    assert settings["chat_template"]["source"] == "the model file"
    assert settings["top_k"]["value"] == "7"
    assert settings["top_k"]["source"].endswith("config.toml:4, options.top_k")
    assert settings["top_k"]["instead_of"][0]["value"] == "20"
    assert settings["system_prompt"]["value"] == "Be brief."
    assert settings["seed"] == {"name": "seed", "value": None, "source": "the default of Built-in"}
    assert [step["name"] for step in told["steps"]] == [
        "sidecar", "family", "inheritance", "variant", "configuration", "parameters",
    ]  # fmt: skip
    assert main(["models", "explain", "embedded://qwen3-tiny"]) == 0
    shown = capsys.readouterr().out
    assert "MODEL                     built-in://qwen3-tiny" in shown
    assert "1 sidecar        qwen3-tiny.config.yaml: merged with the family" in shown
    assert "deep by default, or off; <think> … </think>; switched by enable_thinking" in shown


def test_a_family_of_the_user_counts_and_what_is_wrong_with_one_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    families = home / "config" / "ollm" / "families"
    mine = "_id: Mine\nmodelPattern: {'@': 'qwen3-t*'}\nparameters: {min_p: 0.2}"
    (families / "mine.yaml").write_text(mine)
    (families / "bad.yaml").write_text("_id: Bad\nextend: Mine")
    assert main(["models", "explain", "embedded://qwen3-tiny"]) == 0
    out, err = capsys.readouterr()
    assert "FAMILY                    Mine" in out
    assert f"the family Mine ({families / 'mine.yaml'}:3)" in out
    assert f"{families / 'bad.yaml'}:2: Unknown key `extend`. Did you mean `extends`?" in err
    (families / "worse.yaml").write_text("_id: Worse\nextends: Nowhere")
    assert main(["config", "check"]) == 1
    checked = capsys.readouterr().out
    assert "extends` names an unknown family: Worse → Nowhere." in checked
    assert f"error: {families / 'bad.yaml'}:2: Unknown key `extend`." in checked
    assert main(["config", "path", "--of", "families"]) == 0
    assert capsys.readouterr().out == f"{families}\n"


def test_hostile_texts_of_families_and_settings_drive_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = r'"\e]0;owned\a\e[2J[red]text[/red]\u202e"'
    family = f"_id: {hostile}\nsource: {hostile}\nmodelPattern: {{'@': 'qwen3-t*'}}\n"
    (home / "config" / "ollm" / "families" / "own.yaml").write_text(family)
    (home / "files" / "qwen3-tiny.config.yaml").write_text(
        f"systemPrompt: {hostile}\nstop: [{hostile}]\n{hostile}: 1\n"
    )
    main(["models", "explain", "embedded://qwen3-tiny"])
    out, err = capsys.readouterr()
    assert "[red]text[/red]" in out
    assert not {"\x1b", "\a", "\u202e"} & set(out + err)


def test_a_server_has_defaults_of_its_own(models: Run) -> None:
    told = json.loads(models("explain", "tiny", "--json")[1])
    assert (told["family"], told["parameters_sent"], told["thinking"]["words"]) == (
        None,
        False,
        None,
    )
    assert told["settings"]


def test_a_name_that_no_provider_has_is_explained_by_its_family(models: Run) -> None:
    code, out, err = models("explain", "ollama://gemma3:4b")
    assert code == 0
    assert "FAMILY          Gemma" in out
    assert "sliding window" in out.lower()
    assert "RECOMMENDED  VALUE  FROM" in out
    assert "By its name alone: " in err
    assert models("explain", "nothing-like-it")[0] == 1
    assert models("explain", " ")[0] == 2
