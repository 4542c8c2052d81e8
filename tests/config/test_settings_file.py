"""The settings one by one: listed from the schema, checked, and written into the file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.setting_fields import setting_fields
from ollm_tui.config.settings_file import SettingsFile, SettingValue
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sections.section import Section, setting

TEXT = """\
# mine
theme = "paper" # warm

[ui]
# for the train
mouse = false

[providers.work]
base_url = "https://anna:s3cret-pass@llm.example.com/v1"
api_key = "sk-verysecret-123456789"
"""


def opened(
    paths: AppPaths, text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None
) -> SettingsFile:
    paths.config_file.write_text(text, "utf-8")
    file = SettingsFile(load_config(paths, environ or {}, flags), paths)
    file.reload()
    return file


def value_of(file: SettingsFile, key: str, **added: tuple[str, ...]) -> SettingValue:
    return next(one for one in file.values(added) if one.field.key == key)


def test_every_field_of_the_schema_is_listed() -> None:
    def keys(section: type[Section], base: str = "") -> set[str]:
        return {f"{base}{one.key}" for one in section.declared().values()}

    names = {"profiles": ("p",), "providers": ("w",), "models": ("m",), "mcp_servers": ("s",)}
    fields = list(setting_fields(AppConfig, names))
    listed = {field.key for field in fields}
    first = {key.partition(".")[0] for key in listed}
    assert first == keys(AppConfig)
    for name, declared in AppConfig.declared().items():
        if isinstance(kind := declared.kind, type) and issubclass(kind, Section):
            assert keys(kind, f"{name}.") <= listed
    assert "profiles.p.options.temperature" in listed
    assert all(field.description for field in fields)


def test_a_new_field_is_listed_with_its_kind() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Grown(AppConfig):
        wings: bool = setting(True, description="Whether it flies.")
        feathers: list[str] = setting([], description="What it wears.")

    fields = {field.key: field for field in setting_fields(Grown, {})}
    assert fields["wings"].kind == "switch"
    assert fields["feathers"].kind == "list"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("ui.mouse", "switch"),
        ("thinking", "choice"),
        ("chat.max_turns", "number"),
        ("options.temperature", "number"),
        ("options.keep_alive", "text"),
        ("options.stop", "list"),
        ("embedded.server", "text"),
        ("sound.play_command", "list"),
        ("keymap", "table"),
    ],
)
def test_the_kind_follows_from_the_type(key: str, kind: str) -> None:
    assert {field.key: field.kind for field in setting_fields(AppConfig, {})}[key] == kind


def test_a_value_has_its_origin(paths: AppPaths) -> None:
    environ = {"OLLM_UI__ANIMATIONS": "false"}
    file = opened(paths, TEXT, environ, Flags(system="Be brief."))
    assert (value_of(file, "theme").shown, value_of(file, "theme").origin.line) == ("paper", 2)
    assert str(value_of(file, "ui.animations").origin) == "OLLM_UI__ANIMATIONS"
    assert str(value_of(file, "system_prompt").origin) == "--system"
    assert str(value_of(file, "chat.max_turns").origin) == "default"


def test_a_secret_is_neither_shown_nor_put_into_an_editor(paths: AppPaths) -> None:
    file = opened(paths, TEXT + '[providers.work.headers]\nX-Key = "h-secret-1"\n')
    assert value_of(file, "providers.work.api_key").field.is_secret
    shown = repr(file.values({}))
    assert "providers.work.headers" in {one.field.key for one in file.values({})}
    for secret in ("s3cret-pass", "sk-verysecret", "h-secret-1"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("key", "typed", "line"),
    [
        ("ui.mouse", "true", "mouse = true"),
        ("chat.max_turns", "12", "max_turns = 12"),
        ("options.temperature", "0.5", "temperature = 0.5"),
        ("options.stop", "a\nb", 'stop = ["a", "b"]'),
        ("options.keep_alive", "5m", 'keep_alive = "5m"'),
        ("thinking", "low", 'thinking = "low"'),
        ("keymap", '{"chat.models": "f4"}', '"chat.models" = "f4"'),
        ("providers.work.label", "Work", 'label = "Work"'),
    ],
)
def test_a_value_is_written_where_it_belongs(
    paths: AppPaths, key: str, typed: str, line: str
) -> None:
    file = opened(paths, TEXT)
    file.set(value_of(file, key).field, typed)
    text = paths.config_file.read_text("utf-8")
    assert line in text.splitlines()
    assert text.startswith('# mine\ntheme = "paper" # warm\n')
    assert "\n[ui]\n# for the train\nmouse = " in text
    file.reload()
    assert value_of(file, key).origin.kind == "file"
    assert value_of(file, key).in_file


def test_an_entry_is_written_with_its_first_setting(paths: AppPaths) -> None:
    file = opened(paths, "")
    value = value_of(file, "profiles.coding.model", profiles=("coding",))
    file.set(value.field, "local://qwen3:8b")
    assert file.reload().config.profiles["coding"].model == "local://qwen3:8b"
    assert file.names("profiles") == ("coding",)


@pytest.mark.parametrize(
    ("key", "typed", "sentence"),
    [
        ("chat.max_turns", "1000", "`chat.max_turns` must be at most 100."),
        ("chat.max_turns", "many", "`chat.max_turns` must be a whole number."),
        ("theme", "", "`theme` must be some text."),
        ("keymap", "[1]", "`keymap` must be a table, written as JSON without null."),
        ("system_prompt", "${NO_SUCH}", "`system_prompt`: ${NO_SUCH} is not set."),
        ("providers.work.base_url", "ftp://x", "`providers.work.base_url`: "),
        ("options.extra_body", '{"model": "x"}', "`options.extra_body.model` may not set model"),
    ],
)
def test_what_the_schema_refuses_is_not_written(
    paths: AppPaths, key: str, typed: str, sentence: str
) -> None:
    file = opened(paths, TEXT)
    with pytest.raises(AIError) as refused:
        file.set(value_of(file, key).field, typed)
    assert refused.value.code is ErrorCode.BAD_REQUEST
    assert refused.value.message.startswith(sentence)
    assert paths.config_file.read_text("utf-8") == TEXT


def test_a_variable_does_not_hide_a_wrong_value(paths: AppPaths) -> None:
    file = opened(paths, TEXT, {"OLLM_CHAT__MAX_TURNS": "5"})
    with pytest.raises(AIError, match="at most 100"):
        file.set(value_of(file, "chat.max_turns").field, "1000")


def test_what_a_front_end_refuses_is_not_written(paths: AppPaths) -> None:
    file = opened(paths, TEXT)
    with pytest.raises(AIError, match="No theme"):
        file.set(value_of(file, "theme").field, "foo", lambda _path, _value: "No theme.")
    assert paths.config_file.read_text("utf-8") == TEXT


def test_a_folder_that_is_missing_is_a_warning(paths: AppPaths, tmp_path: Path) -> None:
    file = opened(paths, TEXT)
    field = value_of(file, "embedded.model_folders").field
    warning = file.set(field, str(tmp_path / "none"))
    assert "does not exist" in (warning or "")


def test_a_problem_elsewhere_in_the_file_does_not_stop_a_change(paths: AppPaths) -> None:
    file = opened(paths, 'them = "x"\n')
    file.set(value_of(file, "ui.mouse").field, "false")
    assert "mouse = false" in paths.config_file.read_text("utf-8")


def test_a_file_that_another_program_changed_is_left_as_it_is(paths: AppPaths) -> None:
    file = opened(paths, TEXT)
    field = value_of(file, "ui.mouse").field
    paths.config_file.write_text('theme = "ember"\n', "utf-8")
    with pytest.raises(AIError) as refused:
        file.set(field, "true")
    assert refused.value.code is ErrorCode.CONFLICT
    with pytest.raises(AIError, match="has changed"):
        file.reset(field)
    assert paths.config_file.read_text("utf-8") == 'theme = "ember"\n'
    file.reload()
    assert value_of(file, "theme").shown == "ember"
    file.set(field, "false")


def test_a_reset_removes_the_line_and_no_comment(paths: AppPaths) -> None:
    file = opened(paths, TEXT)
    file.reset(value_of(file, "ui.mouse").field)
    text = paths.config_file.read_text("utf-8")
    assert "mouse" not in text
    assert "# for the train" in text
    file.reload()
    assert not value_of(file, "ui.mouse").in_file


def test_a_file_that_is_not_toml_is_listed_with_the_defaults_and_not_changed(
    paths: AppPaths,
) -> None:
    file = opened(paths, "theme = \n")
    assert value_of(file, "theme").shown == "dusk"
    with pytest.raises(AIError, match="not valid TOML"):
        file.set(value_of(file, "theme").field, "paper")
    assert paths.config_file.read_text("utf-8") == "theme = \n"
