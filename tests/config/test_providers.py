"""Provider instances: what is there, what configures them, and whose key goes where."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig
from tests.config.conftest import Load


def key_of(loaded: LoadedConfig, name: str) -> str | None:
    key = loaded.config.providers[name].api_key
    return key.get_secret_value() if key else None


def closed(loaded: LoadedConfig) -> dict[str, str]:
    found = loaded.config.providers.items()
    return {name: str(p.problem) for name, p in found if p.problem and not p.preset}


def test_engines_with_a_usual_port_are_there_unasked_and_marked_so(load: Load) -> None:
    providers = load().config.providers
    shown = {name: (p.kind, p.base_url, p.backend) for name, p in providers.items()}
    like = "openai-compatible"
    assert shown == {
        "local": ("ollama", "http://127.0.0.1:11434", None),
        "embedded": ("embedded", None, None),
        "openai-compatible": (like, None, None),
        "vllm": (like, "http://127.0.0.1:8000", "vllm"),
        "lmstudio": (like, "http://127.0.0.1:1234", "lmstudio"),
        "localai": (like, "http://127.0.0.1:8080", "localai"),
        "kobold": (like, "http://127.0.0.1:5001", "kobold"),
        "llamacpp": (like, "http://127.0.0.1:8080", "llamacpp"),
        "openai": ("openai", "https://api.openai.com/v1", None),
        "anthropic": ("anthropic", "https://api.anthropic.com/v1", None),
    }
    assert all(p.preset for p in providers.values())


def test_saying_anything_about_a_preset_makes_it_the_user_s(load: Load) -> None:
    providers = load("[providers.lmstudio]\nidle_timeout_s = 5\n").config.providers
    assert (providers["lmstudio"].preset, providers["kobold"].preset) == (False, True)
    assert providers["lmstudio"].base_url == "http://127.0.0.1:1234"


def test_variables_of_the_engines_configure_them(load: Load) -> None:
    loaded = load(
        "",
        {
            "OLLAMA_HOST": "0.0.0.0",
            "VLLM_HOST": "gpu",
            "VLLM_API_KEY": "vk",
            "OPENAI_COMPATIBLE_HOST": "https://x.example/v1",
            "OPENAI_COMPATIBLE_API_KEY": "ok",
        },
    )
    providers = loaded.config.providers
    assert providers["local"].base_url == "http://127.0.0.1:11434"
    assert providers["vllm"].base_url == "http://gpu:8000"
    assert providers["openai-compatible"].base_url == "https://x.example/v1"
    assert (key_of(loaded, "vllm"), key_of(loaded, "openai-compatible")) == ("vk", "ok")
    assert not providers["vllm"].preset
    assert loaded.all_problems == ()


def test_a_key_alone_does_not_configure_a_server(load: Load) -> None:
    assert load("", {"VLLM_API_KEY": "k"}).config.providers["vllm"].preset


def test_own_variables_reach_any_key_of_a_provider_whose_name_has_a_dash(load: Load) -> None:
    loaded = load(
        "",
        {
            "OLLM_PROVIDERS__OPENAI_COMPATIBLE__BASE_URL": "http://a",
            "OLLM_PROVIDERS__OPENAI_COMPATIBLE__HEADERS": '{"X-A": "b"}',
            "OPENAI_COMPATIBLE_HOST": "http://other",
        },
    )
    found = loaded.config.providers["openai-compatible"]
    assert found.base_url == "http://a"
    assert found.headers["X-A"].get_secret_value() == "b"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("OLLM_THME", "There is no setting for OLLM_THME. Did you mean OLLM_THEME?"),
        ("OLLM_UI__MOSE", "Did you mean `mouse`?"),
        ("OLLM_OPTIONS__STOP", "`options.stop` must be a list"),
        ("OLLM_PROVIDERS__VLLM__HEADERS", "must hold JSON"),
    ],
)
def test_a_variable_that_means_nothing_is_named(name: str, problem: str, load: Load) -> None:
    problems = load("", {name: "[x"}).problems
    assert len(problems) == 1
    assert problem in str(problems[0])
    assert str(problems[0].origin) == name


def test_an_undefined_variable_closes_that_provider_alone_and_waits(load: Load) -> None:
    loaded = load('[providers.work]\nbase_url = "http://w"\napi_key = "${WORK_KEY}"\n')
    assert loaded.problems == ()
    assert list(closed(loaded)) == ["work"]
    work = closed(loaded)["work"]
    assert "config.toml:3: `providers.work.api_key`: ${WORK_KEY} is not set." in work
    assert len(loaded.all_problems) == 1


def test_a_named_variable_that_is_not_set_closes_the_provider(load: Load) -> None:
    loaded = load('[providers.work]\nbase_url = "http://w"\napi_key_env = "WORK_KEY"\n')
    assert "names WORK_KEY, which is not set." in closed(loaded)["work"]
    assert loaded.problems == ()


def test_a_named_variable_gives_the_key_and_its_origin(load: Load) -> None:
    text = '[providers.work]\nbase_url = "http://w"\napi_key_env = "WORK_KEY"\n'
    loaded = load(text, {"WORK_KEY": "sk-1"})
    assert key_of(loaded, "work") == "sk-1"
    assert str(loaded.origin_of("providers.work.api_key")) == "WORK_KEY"
    assert "sk-1" not in repr(loaded)


# (value in the file, environment, what becomes of it; None closes the provider)
REFERENCES = [
    ("${A}", {"A": "x"}, "x"),
    ("a${A}b${B}c", {"A": "1", "B": "2"}, "a1b2c"),
    ("${A}", {"A": "${B}", "B": "x"}, "${B}"),
    ("$${A}", {"A": "x"}, "${A}"),
    ("$$${A}", {"A": "x"}, "$${A}"),
    ("$A", {"A": "x"}, "$A"),
    ("$", {}, "$"),
    ("a$b", {}, "a$b"),
    ("{A}", {"A": "x"}, "{A}"),
    ("${_A1}", {"_A1": "x"}, "x"),
    ("${A}", {"A": "\u00e9"}, "\u00e9"),
    ("${A}", {}, None),
    ("${A:-x}", {"A": "y"}, None),
    ("${A", {"A": "y"}, None),
    ("${}", {"": "y"}, None),
    ("${A B}", {"A": "y"}, None),
    ("${${A}}", {"A": "B", "B": "x"}, None),
    ("${1A}", {"1A": "x"}, None),
    ("${A}", {"A": "x\nInjected: y"}, None),
    ("${A}${B}", {"A": "x"}, None),
]


@pytest.mark.parametrize(("written", "environ", "key"), REFERENCES)
def test_references_in_a_key(
    written: str, environ: dict[str, str], key: str | None, load: Load
) -> None:
    loaded = load(f"[providers.w]\nbase_url = 'http://w'\napi_key = '{written}'\n", environ)
    assert key_of(loaded, "w") == key
    assert (key is None) == (list(closed(loaded)) == ["w"])


def test_a_variable_can_hold_the_address_and_a_number(load: Load) -> None:
    text = '[providers.w]\nbase_url = "${HOST}/v1"\nidle_timeout_s = "${IDLE}"\n'
    found = load(text, {"HOST": "https://h", "IDLE": "7"}).config.providers["w"]
    assert (found.base_url, found.idle_timeout_s) == ("https://h/v1", 7)


def test_a_bad_address_closes_the_provider_instead_of_sending_its_key_to_the_default(
    load: Load,
) -> None:
    loaded = load('[providers.lmstudio]\nbase_url = 5\napi_key = "sk-1"\n')
    assert "must be text" in closed(loaded)["lmstudio"]


def test_a_bad_timeout_leaves_the_provider_open(load: Load) -> None:
    loaded = load("[providers.lmstudio]\nidle_timeout_s = -1\n")
    assert closed(loaded) == {}
    assert loaded.config.providers["lmstudio"].idle_timeout_s == 60


KEYED = '[providers.w]\nbase_url = "https://mine"\napi_key = "sk-1"\nheaders = { X = "sk-2" }\n'


def test_a_key_stays_behind_when_a_flag_sends_the_provider_elsewhere(load: Load) -> None:
    loaded = load(KEYED, flags=Flags(provider="w", host="https://other"))
    found = loaded.config.providers["w"]
    assert (found.base_url, found.api_key, found.headers) == ("https://other", None, {})
    assert len(loaded.problems) == 2
    assert "--host names another server" in str(loaded.problems[0])


def test_a_key_goes_along_to_another_path_of_the_same_server(load: Load) -> None:
    loaded = load(KEYED, flags=Flags(provider="w", host="https://mine/v2"))
    assert key_of(loaded, "w") == "sk-1"


def test_a_key_given_with_the_new_address_is_used(load: Load) -> None:
    loaded = load(KEYED, flags=Flags(provider="w", host="https://other", api_key="sk-3"))
    assert key_of(loaded, "w") == "sk-3"


def test_a_key_without_an_address_goes_where_the_environment_says(load: Load) -> None:
    loaded = load('[providers.vllm]\napi_key = "k"\n', {"VLLM_HOST": "gpu"})
    assert key_of(loaded, "vllm") == "k"


SERVICES = pytest.mark.parametrize("name", ["openai", "anthropic"])


@SERVICES
def test_a_key_in_the_environment_is_the_services_and_configures_nothing(
    name: str, load: Load
) -> None:
    loaded = load("", {f"{name.upper()}_API_KEY": "sk-env"})
    assert key_of(loaded, name) == "sk-env"
    assert loaded.config.providers[name].preset
    assert loaded.problems == ()


@SERVICES
@pytest.mark.parametrize(
    ("text", "environ", "host"),
    [
        ("", {}, "https://evil.example/v1"),
        ('[providers.{}]\nbase_url = "https://evil.example/v1"\n', {}, None),
        ("", {"{}_BASE_URL": "https://evil.example/v1"}, "https://worse.example"),
    ],
)
def test_a_services_key_in_the_environment_goes_nowhere_else(
    name: str, text: str, environ: Mapping[str, str], host: str | None, load: Load
) -> None:
    named = {key.format(name.upper()): value for key, value in environ.items()}
    flags = Flags(provider=name if host else None, host=host)
    loaded = load(text.format(name), {f"{name.upper()}_API_KEY": "sk-env"} | named, flags=flags)
    assert loaded.config.providers[name].api_key is None
    assert "is not used" in str(loaded.problems[0])


@SERVICES
def test_a_services_key_goes_where_the_environment_says_beside_it(name: str, load: Load) -> None:
    prefix = name.upper()
    environ = {f"{prefix}_API_KEY": "sk", f"{prefix}_BASE_URL": "https://gateway.example/v1"}
    loaded = load("", environ)
    assert key_of(loaded, name) == "sk"
    assert loaded.config.providers[name].base_url == "https://gateway.example/v1"


@SERVICES
def test_a_services_key_in_the_file_stays_with_the_service(name: str, load: Load) -> None:
    text = f'[providers.{name}]\napi_key = "sk-file"\n'
    assert key_of(load(text), name) == "sk-file"
    elsewhere = load(text, flags=Flags(provider=name, host="https://evil.example"))
    assert elsewhere.config.providers[name].api_key is None
    own = load(f'{text}base_url = "https://mine.example/v1"\n')
    assert key_of(own, name) == "sk-file"


@SERVICES
def test_a_service_of_another_name_needs_no_address(name: str, load: Load) -> None:
    loaded = load(f'[providers.cloud]\nkind = "{name}"\napi_key_env = "A"\n', {"A": "k"})
    assert closed(loaded) == {}
    assert key_of(loaded, "cloud") == "k"


def test_a_server_without_an_address_says_what_to_set(load: Load) -> None:
    assert "Set base_url below [providers.w]" in closed(load("[providers.w]\n"))["w"]


def test_a_certificate_file_begins_at_the_settings_file_and_has_to_be_there(
    load: Load, tmp_path: Path
) -> None:
    text = '[providers.w]\nbase_url = "https://w"\nca_file = "ca.pem"\n'
    assert (
        "`providers.w.ca_file` names a file that cannot be used: it does not exist."
        in closed(load(text))["w"]
    )
    (tmp_path / "config" / "ca.pem").write_text("")
    assert "it holds no certificate" in closed(load(text))["w"]
    (tmp_path / "config" / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
    assert closed(load(text)) == {}


def test_a_configured_name_takes_the_alias_of_that_name(load: Load) -> None:
    assert load().config.aliases == {"ollama": "local", "built-in": "embedded"}
    config = load('[providers.ollama]\nbase_url = "box"\n[aliases]\nw = "ollama"\n').config
    assert config.aliases == {"built-in": "embedded", "w": "ollama"}
    assert (config.providers["ollama"].kind, config.providers["ollama"].base_url) == (
        "ollama",
        "http://box:11434",
    )


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (Flags(host="box"), "local"),
        (Flags(host="box", provider="ollama"), "local"),
        (Flags(host="box", model="vllm://m"), "vllm"),
        (Flags(host="box", provider="lmstudio", model="vllm://m"), "lmstudio"),
        (Flags(host="box", provider="new"), "new"),
    ],
)
def test_host_goes_to_the_chosen_provider(flags: Flags, name: str, load: Load) -> None:
    loaded = load(flags=flags)
    assert loaded.problems == ()
    found = loaded.config.providers[name]
    assert (found.base_url or "").startswith("http://box")
    assert not found.preset


def test_a_host_for_the_embedded_engine_means_nothing(load: Load) -> None:
    problems = load(flags=Flags(host="box", provider="embedded")).problems
    assert [str(p) for p in problems] == ["--host: --host does not apply to `embedded`."]


def test_a_provider_on_the_command_line_speaks_against_a_configured_model(load: Load) -> None:
    text = 'model = "local://m"\n'
    assert load(text, flags=Flags(provider="vllm")).config.model is None
    assert load(text, flags=Flags(provider="local")).config.model == "local://m"
    assert load(text, flags=Flags(provider="vllm", model="n")).config.model == "vllm://n"


def test_a_key_in_a_file_that_others_can_read_is_a_warning(load: Load, tmp_path: Path) -> None:
    file = tmp_path / "config" / "config.toml"
    load('[providers.w]\nbase_url = "http://w"\napi_key = "sk-1"\n')
    assert load().problems == ()
    file.chmod(0o644)
    problem = load().problems[0]
    assert problem.severity == "warning"
    assert "chmod 600" in str(problem)
    assert "sk-1" not in str(problem)
    file.write_text(file.read_text().replace("sk-1", "${K}"))
    assert load(environ={"K": "x"}).problems == ()


@pytest.mark.parametrize("address", ["ollama://tiny:1b", "local://tiny:1b"])
def test_a_model_of_the_settings_may_be_named_by_an_alias(address: str, load: Load) -> None:
    loaded = load(f'[models."{address}"]\ncontext = 777\n')
    assert loaded.config.models["local://tiny:1b"].context == 777
    assert loaded.origin_of('models."local://tiny:1b".context').line == 2


def test_the_name_of_the_provider_wins_over_its_alias(load: Load) -> None:
    text = '[models."local://m"]\ncontext = 1\n[models."ollama://m"]\ncontext = 2\n'
    assert load(text).config.models["local://m"].context == 1
