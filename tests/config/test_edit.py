"""One key is changed; comments, order and everything else stay."""

import fcntl
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ollm_tui.config import edit
from ollm_tui.config.early import EarlySettings, early_settings
from ollm_tui.config.edit import set_key, set_table
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths, config_path, default_paths, private_folder
from ollm_tui.config.toml_file import toml_values
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.config.conftest import Load


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_comments_and_order_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('# mine\ntheme = "a" # why\n\n[ui]\n# below\nmouse = true\n')
    set_key(file, "theme", "b")
    set_key(file, "ui.mouse", value=False)
    set_key(file, 'keymap."chat.send"', "f2")
    assert file.read_text() == (
        '# mine\ntheme = "b" # why\n\n[ui]\n# below\nmouse = false\n\n'
        '[keymap]\n"chat.send" = "f2"\n'
    )


def test_a_new_file_and_its_folder_belong_to_their_owner_alone(tmp_path: Path, load: Load) -> None:
    before = os.umask(0)
    try:
        file = tmp_path / "new" / "config.toml"
        set_key(file, "theme", "paper")
    finally:
        os.umask(before)
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]
    assert load(flags=Flags(config_path=file)).config.theme == "paper"


def test_a_key_can_be_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "a"\nmodel = "m"\n')
    set_key(file, "theme", None)
    set_key(file, "ui.mouse", None)
    assert file.read_text() == 'model = "m"\n'


def test_a_file_that_is_not_toml_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[ui\n")
    with pytest.raises(AIError) as caught:
        set_key(file, "theme", "a")
    assert caught.value.code == ErrorCode.CONFLICT
    assert file.read_text() == "[ui\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("")
    link.symlink_to(real)
    set_key(link, "theme", "a")
    assert link.is_symlink()
    assert real.read_text() == 'theme = "a"\n'


def test_the_first_frame_needs_theme_and_keys_only(paths: AppPaths) -> None:
    paths.config_file.write_text('theme = "paper"\n[keymap]\nchat.send = "f2"\n"app.quit" = "f9"\n')
    early = early_settings(paths, {})
    assert early.theme == "paper"
    assert early.keymap == {"chat.send": "f2", "app.quit": "f9"}
    assert early_settings(paths, {"OLLM_THEME": "dusk"}).theme == "dusk"
    assert early_settings(paths, {"OLLM_THEME": "dusk", "NO_COLOR": "1"}).theme == "dusk"
    assert early_settings(paths, {"OLLM_THEME": "dusk"}, Flags(theme="ember")).theme == "ember"


def test_without_colours_the_default_is_the_terminals_own_background(paths: AppPaths) -> None:
    assert early_settings(paths, {"NO_COLOR": "1"}).theme == "terminal"
    assert early_settings(paths, {"NO_COLOR": ""}).theme == "dusk"


def test_early_settings_know_the_switches_of_the_screen(paths: AppPaths) -> None:
    assert early_settings(paths, {}) == EarlySettings()
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text("[ui]\nmouse = false\nanimations = false\n", "utf-8")
    early = early_settings(paths, {"OLLM_UI__MOUSE": "on", "OLLM_UI__SHOW_THINKING": "False"})
    assert (early.mouse, early.animations, early.show_thinking) == (True, False, False)
    assert (early.maths, early.times) == (True, False)
    assert early_settings(paths, {"OLLM_UI__TIMES": "true"}).times
    paths.config_file.write_text("ui = 3\n", "utf-8")
    assert early_settings(paths, {}).mouse


def test_the_mouse_is_off_in_gnu_screen_unless_it_is_set(paths: AppPaths) -> None:
    inside = {"STY": "1.pts-0.host", "TERM": "screen"}
    assert not early_settings(paths, inside).mouse
    assert early_settings(paths, inside | {"TMUX": "/tmp/tmux-0/default,1,0"}).mouse
    assert early_settings(paths, inside | {"OLLM_UI__MOUSE": "1"}).mouse
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text("[ui]\nmouse = true\n", "utf-8")
    assert early_settings(paths, inside).mouse


def test_early_settings_import_neither_pydantic_nor_tomlkit() -> None:
    code = (
        "import sys, ollm_tui.config.early, ollm_tui.config.flags\n"
        "print({'pydantic', 'pydantic_settings', 'tomlkit', 'httpx', 'textual'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_directories_follow_the_xdg_variables(tmp_path: Path) -> None:
    paths = default_paths()
    assert paths.config_dir == tmp_path / "home" / ".config" / "ollm"
    assert paths.models_dir == tmp_path / "home" / ".data" / "ollm" / "models"


def test_the_file_is_the_chosen_one_then_the_variable_s_then_ours(paths: AppPaths) -> None:
    named = {"OLLM_CONFIG": "/x/y.toml"}
    assert config_path(paths, named, Path("/z.toml")) == Path("/z.toml")
    assert config_path(paths, named) == Path("/x/y.toml")
    assert config_path(paths, {}) == paths.config_file


@pytest.mark.parametrize("mask", [0, 0o777])
def test_folders_are_made_for_their_owner_alone_whatever_the_mask(
    tmp_path: Path, mask: int
) -> None:
    tmp_path.chmod(0o755)
    before = os.umask(mask)
    try:
        private_folder(tmp_path / "data" / "models")
    finally:
        os.umask(before)
    assert [mode(tmp_path / "data" / "models"), mode(tmp_path / "data")] == [0o700, 0o700]
    assert mode(private_folder(tmp_path)) == 0o755


def test_a_table_is_written_and_the_rest_of_the_file_stays(tmp_path: Path, load: Load) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        "# mine\n[profiles.b] # short\n# below\nmodel = 'b'\nthinking = 'low'\n\n[ui]\nmouse = true"
    )
    prompt = 'Say "hi".\n\\ and """.\n'
    set_table(file, ("profiles", "a b"), {"model": "a", "system_prompt": prompt})
    set_table(file, ("profiles", "b"), {"model": "c", "options": {"seed": 1, "stop": ["x"]}})
    text = file.read_text()
    assert text.startswith('# mine\n[profiles.b] # short\n# below\nmodel = "c"\noptions = {')
    assert text.rstrip().endswith("[ui]\nmouse = true")
    config = load(flags=Flags(config_path=file)).config
    assert config.profiles["a b"].system_prompt == prompt
    assert (config.profiles["b"].thinking, config.profiles["b"].options.stop) == (None, ["x"])


@pytest.mark.parametrize(
    "text",
    ["profiles = { a = { model = 'x' } }\n", "profiles.a.model = 'x'\n", "[profiles]\n", ""],
)
def test_a_table_is_written_however_the_others_are(text: str, tmp_path: Path, load: Load) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    set_table(file, ("profiles", "b"), {"model": "b", "options": {"seed": 1}})
    config = load(flags=Flags(config_path=file)).config
    assert config.profiles["b"].options.seed == 1
    assert ("a" in config.profiles) == ("a" in text.replace("profiles", ""))


def test_a_value_in_the_place_of_a_table_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("profiles = 5\n")
    with pytest.raises(AIError) as caught:
        set_table(file, ("profiles", "b"), {"model": "b"})
    assert caught.value.code == ErrorCode.CONFLICT
    assert file.read_text() == "profiles = 5\n"


def test_two_programs_do_not_lose_each_others_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda n: set_key(file, f"keymap.k{n}", str(n)), range(16)):
            pass
    assert len(toml_values(file)["keymap"]) == 16  # type: ignore[arg-type]
    monkeypatch.setattr(edit, "LOCK_S", 0.05)
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(AIError, match="Another program is changing"):
        set_key(file, "theme", "a")
    os.close(holder)
    set_key(file, "theme", "a")
