"""The hub's address and token: who names them, who sees them, and where the token goes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.backends import HUGGING_FACE
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.reference import config_rows
from tests.config.conftest import Load

MIRROR = "https://mirror.example"


def token_of(loaded: LoadedConfig) -> str | None:
    token = loaded.config.hub.token
    return token.get_secret_value() if token else None


def rows(loaded: LoadedConfig) -> dict[str, tuple[str, str]]:
    return {row.key: (row.value, row.origin) for row in config_rows(loaded)}


def problems_of(loaded: LoadedConfig) -> list[str]:
    return [str(problem) for problem in loaded.problems]


def test_without_settings_it_is_hugging_face_s_own_without_a_token(load: Load) -> None:
    loaded = load("")
    assert (loaded.config.hub.endpoint, token_of(loaded)) == (HUGGING_FACE, None)
    assert loaded.config.hub.problem is None
    assert rows(loaded)["hub.endpoint"] == (HUGGING_FACE, "default")


def test_the_variables_of_the_hub_s_own_client_count(load: Load) -> None:
    loaded = load("", {"HF_ENDPOINT": f" {MIRROR}/hub/ ", "HF_TOKEN": "hf_abc\n"})
    assert (loaded.config.hub.endpoint, token_of(loaded)) == (f"{MIRROR}/hub", "hf_abc")
    assert rows(loaded)["hub.endpoint"] == (f"{MIRROR}/hub", "HF_ENDPOINT")
    assert rows(loaded)["hub.token"] == ("«set»", "HF_TOKEN")
    assert problems_of(loaded) == []


def test_the_older_variable_counts_less(load: Load) -> None:
    older = {"HUGGING_FACE_HUB_TOKEN": "old"}
    assert token_of(load("", older)) == "old"
    assert token_of(load("", {**older, "HF_TOKEN": "new"})) == "new"
    assert token_of(load("", {"HF_TOKEN": "  "})) is None


@pytest.mark.parametrize(
    ("text", "environ", "token", "origin"),
    [
        ('token = "${MINE}"', {"MINE": "t1"}, "t1", "config.toml:2"),
        ('token_env = "MINE"', {"MINE": "t2"}, "t2", "MINE"),
        ('token = "t3"', {"HF_TOKEN": "t4"}, "t4", "HF_TOKEN"),
        ('token_env = "MINE"', {"MINE": "t5", "HF_TOKEN": "t6"}, "t6", "HF_TOKEN"),
        ("", {"OLLM_HUB__TOKEN": "t7", "HF_TOKEN": "t8"}, "t7", "OLLM_HUB__TOKEN"),
    ],
)
def test_the_highest_place_gives_the_token(
    load: Load, text: str, environ: dict[str, str], token: str, origin: str
) -> None:
    loaded = load(f"[hub]\n{text}\n", environ)
    assert token_of(loaded) == token
    assert rows(loaded)["hub.token"][1].endswith(origin)
    assert problems_of(loaded) == []


@pytest.mark.parametrize(
    ("text", "environ", "token"),
    [
        # The token was given for Hugging Face, and somebody sends the app elsewhere.
        ('token = "t"', {"HF_ENDPOINT": MIRROR}, None),
        (f'endpoint = "{MIRROR}"', {"HF_TOKEN": "t"}, None),
        (f'endpoint = "{MIRROR}"\ntoken = "t"', {"HF_ENDPOINT": "https://other.example"}, None),
        # It was given for the hub that is asked.
        (f'endpoint = "{MIRROR}"\ntoken = "t"', {}, "t"),
        (f'endpoint = "{MIRROR}"\ntoken = "t"', {"HF_ENDPOINT": f"{MIRROR}/path"}, "t"),
        (f'endpoint = "{MIRROR}"', {"HF_TOKEN": "t", "HF_ENDPOINT": MIRROR}, "t"),
        ('token = "t"', {"HF_ENDPOINT": HUGGING_FACE}, "t"),
    ],
)
def test_a_token_stays_with_the_hub_it_was_given_for(
    load: Load, text: str, environ: dict[str, str], token: str | None
) -> None:
    loaded = load(f"[hub]\n{text}\n", environ)
    assert token_of(loaded) == token
    warnings = [line for line in problems_of(loaded) if "is not used" in line]
    assert len(warnings) == (token is None)
    assert all("names another hub" in line for line in warnings)


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("", {"HF_ENDPOINT": "ftp://x"}),
        ("", {"HF_ENDPOINT": "https://a b"}),
        ("", {"OLLM_HUB__ENDPOINT": "https://x:99999"}),
        ('endpoint = ""', {}),
        ("endpoint = 5", {}),
        ('endpoint = "${NOT_SET}"', {}),
        (f'endpoint = "{MIRROR}"', {"HF_ENDPOINT": "gopher://x"}),
    ],
)
def test_a_hub_that_cannot_be_meant_is_not_replaced_by_another(
    load: Load, text: str, environ: dict[str, str]
) -> None:
    loaded = load(f"[hub]\n{text}\n", environ)
    problem = loaded.config.hub.problem
    assert problem is not None
    assert "hub.endpoint" in str(problem)
    assert str(problem) in problems_of(loaded)


def test_a_token_that_no_header_can_hold_is_left_out(load: Load) -> None:
    loaded = load("", {"HF_TOKEN": "a b"})
    assert token_of(loaded) is None
    assert problems_of(loaded) == ["HF_TOKEN: `hub.token` has characters that no token has."]


def test_a_variable_that_is_named_and_not_set_is_reported(load: Load) -> None:
    loaded = load('[hub]\ntoken_env = "MINE"\n')
    assert len(problems_of(loaded)) == 1
    assert problems_of(loaded)[0].endswith("`hub.token_env` names MINE, which is not set.")
    assert loaded.config.hub.problem is None


def test_a_literal_token_in_a_file_for_all_to_read_is_reported(
    paths: AppPaths, write: Callable[[str], Path]
) -> None:
    write('[hub]\ntoken = "t"\n').chmod(0o644)
    (problem,) = load_config(paths, {}).problems
    assert (problem.severity, problem.key) == ("warning", "hub.token")
    assert (problem.hint or "").endswith("or use token_env.")


@pytest.fixture
def keep(tmp_path: Path) -> Callable[..., Path]:
    def keep_token(text: bytes = b"hf_kept\n", mode: int = 0o600) -> Path:
        path = tmp_path / "hf" / "token"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        path.chmod(mode)
        return path

    return keep_token


@pytest.mark.parametrize("how", ["HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME", "HOME"])
def test_the_token_that_a_login_left_is_found(
    load: Load, keep: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    path = keep()
    environ = {"HF_TOKEN_PATH": str(path), "HF_HOME": str(path.parent)}
    if how in ("XDG_CACHE_HOME", "HOME"):
        folder = tmp_path / (".cache" if how == "HOME" else "") / "huggingface"
        folder.parent.mkdir(exist_ok=True)
        path = path.parent.rename(folder) / "token"
        environ = {"XDG_CACHE_HOME": str(folder.parent)} if how == "XDG_CACHE_HOME" else {}
        monkeypatch.setenv("HOME", str(tmp_path))
    environ = {key: value for key, value in environ.items() if key == how}
    loaded = load("", environ)
    assert token_of(loaded) == "hf_kept"
    assert rows(loaded)["hub.token"] == ("«set»", str(path))
    assert problems_of(loaded) == []


def test_a_token_of_one_s_own_counts_more_than_a_login(
    load: Load, keep: Callable[..., Path]
) -> None:
    environ = {"HF_TOKEN_PATH": str(keep())}
    assert token_of(load("", {**environ, "HF_TOKEN": "t"})) == "t"
    assert token_of(load('[hub]\ntoken = "u"\n', environ)) == "u"


def test_a_login_is_for_the_hub_that_its_own_client_asks(
    load: Load, keep: Callable[..., Path]
) -> None:
    environ = {"HF_TOKEN_PATH": str(keep())}
    assert token_of(load("", {**environ, "HF_ENDPOINT": MIRROR})) == "hf_kept"
    elsewhere = load(f'[hub]\nendpoint = "{MIRROR}"\n', environ)
    assert (token_of(elsewhere), problems_of(elsewhere)) == (None, [])


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_login_that_others_can_read_is_reported(
    load: Load, keep: Callable[..., Path], mode: int
) -> None:
    path = keep(mode=mode)
    loaded = load("", {"HF_TOKEN_PATH": str(path)})
    assert token_of(loaded) == "hf_kept"
    (problem,) = loaded.problems
    assert (problem.severity, problem.hint) == ("warning", f"Run `chmod 600 {path}`.")
    assert "hf_kept" not in str(problem)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"a b", b"x\x00y"])
def test_a_file_without_a_token_gives_none(
    load: Load, keep: Callable[..., Path], content: bytes
) -> None:
    loaded = load("", {"HF_TOKEN_PATH": str(keep(content))})
    assert token_of(loaded) is None


def test_what_is_no_file_gives_none(load: Load, tmp_path: Path) -> None:
    for name in (str(tmp_path), "/dev/zero", str(tmp_path / "none"), "~nobody-here/x"):
        loaded = load("", {"HF_TOKEN_PATH": name})
        assert (token_of(loaded), problems_of(loaded)) == (None, [])


@given(
    endpoint=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    token=st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=30),
)
def test_any_variables_load_and_no_line_repeats_the_token(
    endpoint: str, token: str, paths: AppPaths
) -> None:
    secret = f"S3cret{token}"
    loaded = load_config(paths, {"HF_ENDPOINT": endpoint, "HF_TOKEN": secret})
    shown = "\n".join([*problems_of(loaded), *(f"{value}" for value in rows(loaded).values())])
    assert "S3cret" not in shown
    assert "S3cret" not in repr(loaded.config)
