"""Keys that are kept: where, for whom, and what comes before them."""

import json
import stat
import sys
from types import ModuleType, SimpleNamespace

import pytest

from ollm_tui.config.keys.stored_keys import KeyringProblem, StoredKeys, SystemKeyring
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError
from tests.config.conftest import Load

OPENAI = "https://api.openai.com"


class Keyring(SystemKeyring):
    """A keyring in memory, which can be locked."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.is_locked = False

    def is_there(self) -> bool:
        return True

    def _call(self, what: str, *values: str) -> object:
        if self.is_locked:
            raise KeyringProblem("KeyringLocked")
        match what, values:
            case "set_password", (name, key):
                self.kept[name] = key
            case "delete_password", (name,):
                del self.kept[name]
            case _, (name,):
                return self.kept.get(name)
        return None


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """The package `keyring`, as far as it is used."""
    kept: dict[tuple[str, str], str] = {}
    module = ModuleType("keyring")
    module.__spec__ = SimpleNamespace(name="keyring")  # type: ignore[assignment]
    vars(module).update(
        get_keyring=lambda: SimpleNamespace(priority=5),
        get_password=lambda service, name: kept.get((service, name)),
        set_password=lambda service, name, key: kept.update({(service, name): key}),
        delete_password=lambda service, name: kept.pop((service, name)),
    )
    monkeypatch.setitem(sys.modules, "keyring", module)
    return kept


def shown_key(paths: AppPaths, load: Load, environ: dict[str, str] | None = None) -> str | None:
    key = load(environ=environ).config.providers["openai"].api_key
    return key.get_secret_value() if key else None


def test_without_a_keyring_a_key_is_in_a_file_for_its_owner_alone(
    paths: AppPaths, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setattr(SystemKeyring, "is_there", lambda _self: False)
    keys = StoredKeys(paths.data_dir)
    assert keys.set("openai", OPENAI, "sk-kept") == "file"
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert shown_key(paths, load) == "sk-kept"
    assert str(load().origin_of("providers.openai.api_key")) == str(keys.path)
    assert "sk-kept" not in repr(keys.listed())


def test_with_a_keyring_no_file_has_the_key(
    paths: AppPaths, load: Load, backend: dict[tuple[str, str], str]
) -> None:
    keys = StoredKeys(paths.data_dir)
    assert keys.set("openai", OPENAI, "sk-kept") == "keyring"
    assert backend == {("ollm", "openai"): "sk-kept"}
    assert "sk-kept" not in keys.path.read_text("utf-8")
    assert shown_key(paths, load) == "sk-kept"
    assert str(load().origin_of("providers.openai.api_key")) == "the system's keyring"
    assert keys.remove("openai")
    assert not backend
    assert shown_key(paths, load) is None
    assert not keys.remove("openai")


def test_the_environment_and_the_settings_come_first(
    paths: AppPaths, load: Load, backend: dict[tuple[str, str], str]
) -> None:
    StoredKeys(paths.data_dir).set("openai", OPENAI, "sk-kept")
    assert shown_key(paths, load, {"OPENAI_API_KEY": "sk-of-variable"}) == "sk-of-variable"
    loaded = load('[providers.openai]\napi_key = "sk-of-file"\n')
    key = loaded.config.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "sk-of-file"


def test_another_server_does_not_get_the_key(
    paths: AppPaths, load: Load, backend: dict[tuple[str, str], str]
) -> None:
    StoredKeys(paths.data_dir).set("openai", OPENAI, "sk-kept")
    loaded = load('[providers.openai]\nbase_url = "https://other.example.com/v1"\n')
    assert loaded.config.providers["openai"].api_key is None
    assert any("kept for another server" in one.message for one in loaded.problems)
    variable = {"OLLM_PROVIDERS__OPENAI__BASE_URL": "https://other.example.com/v1"}
    assert load("", variable).config.providers["openai"].api_key is None


def test_the_token_of_the_hub_is_kept_too(
    paths: AppPaths, load: Load, backend: dict[tuple[str, str], str]
) -> None:
    StoredKeys(paths.data_dir).set("hub", "https://huggingface.co", "hf_kept")
    token = load().config.hub.token
    assert token is not None
    assert token.get_secret_value() == "hf_kept"
    assert load('[hub]\nendpoint = "https://mirror.example.com"\n').config.hub.token is None


def test_a_key_that_a_locked_keyring_has_still_is_removed_with_its_successor(
    paths: AppPaths,
) -> None:
    keyring = Keyring()
    keys = StoredKeys(paths.data_dir, keyring)
    assert keys.set("openai", OPENAI, "sk-old") == "keyring"
    keyring.is_locked = True
    assert keys.set("openai", OPENAI, "sk-new") == "file"
    assert keys.set("openai", OPENAI, "sk-newer") == "file"
    with pytest.raises(AIError, match="Unlock the keyring"):
        StoredKeys(paths.data_dir, keyring).remove("openai")
    keyring.is_locked = False
    assert StoredKeys(paths.data_dir, keyring).remove("openai")
    assert keyring.kept == {}
    assert keys.listed() == []


def test_a_locked_keyring_is_a_warning_and_keeps_new_keys_in_the_file(paths: AppPaths) -> None:
    keyring = Keyring()
    keys = StoredKeys(paths.data_dir, keyring)
    keys.set("openai", OPENAI, "sk-kept")
    keyring.is_locked = True
    with pytest.raises(AIError, match="cannot be removed"):
        keys.remove("openai")
    assert keys.set("vllm", "http://127.0.0.1:8000", "k") == "file"
    assert [one.place for one in keys.listed()] == ["keyring", "file"]


def test_a_keyring_without_the_key_is_a_warning_at_the_start(
    paths: AppPaths, backend: dict[tuple[str, str], str]
) -> None:
    StoredKeys(paths.data_dir).set("openai", OPENAI, "sk-kept")
    backend.clear()
    (problem,) = load_config(paths, {}).problems
    assert problem.severity == "warning"
    assert problem.message == "The key of openai cannot be read from the system's keyring."
    assert "ollm keys set openai" in (problem.advice or "")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b'{"a": 1}', b"[1, {}]"])
def test_a_damaged_file_is_no_end(paths: AppPaths, content: bytes) -> None:
    (paths.data_dir / "keys.json").write_bytes(content)
    loaded = load_config(paths, {})
    assert all("keys.json" in str(problem) for problem in loaded.problems)


def test_an_entry_has_what_it_needs_and_no_more(
    paths: AppPaths, backend: dict[tuple[str, str], str]
) -> None:
    keys = StoredKeys(paths.data_dir)
    keys.set("openai", OPENAI, "sk-kept")
    assert json.loads(keys.path.read_text("utf-8")) == [
        {"name": "openai", "server": OPENAI, "place": "keyring"}
    ]
