"""How the built-in engine loads models, as the settings say it."""

from pathlib import Path

from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.provider_set import embedded_settings
from tests.config.conftest import Load


def test_files_start_at_the_settings_file_and_a_model_is_named_in_three_ways(
    load: Load, paths: AppPaths, tmp_path: Path
) -> None:
    text = f"""
[embedded]
gpu_layers = "all"
server = "none"
[models.bare]
lora = ["a.gguf", "{tmp_path}/b.gguf"]
[models."embedded://full"]
path = "~/c.gguf"
context = 1024
[models."built-in://alias"]
draft_model = "d.gguf"
chat_template = "e.jinja"
gpu_layers = 0
[models."local://other"]
context = 2048
"""
    settings = embedded_settings(load(text).config, None)
    assert [*settings.models] == ["bare", "full", "alias"]
    folder = paths.config_dir
    assert settings.models["bare"].lora == [folder / "a.gguf", tmp_path / "b.gguf"]
    assert settings.models["alias"].draft_model == folder / "d.gguf"
    assert settings.models["alias"].chat_template == folder / "e.jinja"
    assert not settings.is_context_set
    assert embedded_settings(load("[embedded]\ncontext = 4096").config, None).is_context_set
    assert settings.models["full"].path == Path.home() / "c.gguf"
    assert settings.windows == {"full": 1024}
    assert settings.options_of("bare").gpu_layers == "all"
    assert settings.options_of("alias").gpu_layers == 0
    assert settings.program is None


def test_what_is_for_the_engine_is_not_set_for_a_model_of_a_server(load: Load) -> None:
    problems = load('[models."local://m"]\ngpu_layers = 3\ncontext = 4096').all_problems
    (problem,) = map(str, problems)
    assert '`models."local://m".gpu_layers` is for models of the built-in engine.' in problem


def test_a_template_for_a_model_of_a_server_is_reported_with_the_way_to_set_it(load: Load) -> None:
    for model, way in {
        "local://m": "ollm models create NAME MODEL --template FILE",
        "vllm://m": "--trust-request-chat-template",
        "llamacpp://m": "--chat-template-file",
    }.items():
        loaded = load(f'[models."{model}"]\nchat_template = "x.jinja"')
        (problem,) = map(str, loaded.problems)
        assert "is for models of the built-in engine." in problem
        assert way in problem


def test_files_that_do_not_exist_are_named(load: Load) -> None:
    text = '[embedded]\nserver = "/none/llama-server"\n[models.m]\nlora = ["/none/x.gguf"]'
    assert [problem.key for problem in load(text).all_problems] == [
        "embedded.server",
        "models.m.lora",
    ]


def test_a_model_has_what_is_set_for_its_name_and_for_its_address(load: Load) -> None:
    text = """
[models."tiny"]
gpu_layers = 3
context = 2048
[models."built-in://tiny"]
context = 1024
"""
    settings = embedded_settings(load(text).config, None)
    assert settings.options_of("tiny").gpu_layers == 3
    assert settings.windows == {"tiny": 1024}
