"""Which engine a model that hears or speaks gets, with what, and what is missing for it."""

import re
from collections.abc import Collection
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.embedded.engine_rules import EngineRule, ModelNameRule, engine_for, matches
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.sound_plans import SoundPlanner, SoundTask, espeak_program
from tests.library.gguf_bytes import file_of, pair, text
from tests.support.sound_models import put_voice, whisper_header

NOTHING_SET = EngineSettings()
ALL = frozenset({"pywhispercpp", "sherpa_onnx", "espeakng_loader"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put_voice(tmp_path, "joe")
    (tmp_path / "ggml-base.bin").write_bytes(whisper_header())
    return tmp_path


@pytest.fixture
def espeak(tmp_path: Path) -> Path:
    program = tmp_path / "espeak-ng"
    program.write_text(
        "#!/bin/sh\necho 'Pty Language'\necho ' 5  de  --/M German gmw/de'\n", "utf-8"
    )
    program.chmod(0o755)
    return program


def planner(
    folder: Path,
    espeak: Path | None = None,
    packages: Collection[str] = ALL,
    engine: EngineSettings = NOTHING_SET,
) -> SoundPlanner:
    return SoundPlanner(
        FolderLibrary([folder]),
        KnownModels(),
        EmbeddedSettings(espeak=espeak, engine=engine),
        has_package=lambda name: name in packages,
    )


def refusal(them: SoundPlanner, name: str, task: SoundTask) -> AIError:
    with pytest.raises(AIError) as caught:
        them.plan(name, task)
    return caught.value


def test_each_kind_of_file_gets_its_engine(folder: Path, espeak: Path) -> None:
    them = planner(folder, espeak)
    plans = [
        them.plan("ggml-base", "transcription"),
        them.plan("joe", "speech"),
        them.plan("espeak-ng", "speech"),
    ]
    assert [(one.engine, one.path) for one in plans if one is not None] == [
        ("whisper.cpp", folder / "ggml-base.bin"),
        ("piper", folder / "joe.onnx"),
        ("espeak-ng", espeak),
    ]
    voice = plans[1]
    assert voice is not None
    assert voice.files == {"description": folder / "joe.onnx.json", "espeak": espeak}


def test_a_voice_does_without_the_program_if_the_package_is_there(folder: Path) -> None:
    plan = planner(folder).plan("joe", "speech")
    assert plan is not None
    assert plan.files == {"description": folder / "joe.onnx.json"}


@pytest.mark.parametrize(
    ("name", "task", "packages", "text"),
    [
        (
            "ggml-base",
            "transcription",
            {"sherpa_onnx"},
            "The engine whisper.cpp is not installed. Install it in ollm's environment: "
            "pip install pywhispercpp.",
        ),
        (
            "joe",
            "speech",
            {"pywhispercpp", "espeakng_loader"},
            "The engine piper is not installed. Install it in ollm's environment: "
            "pip install sherpa-onnx.",
        ),
        (
            "joe",
            "speech",
            {"sherpa_onnx"},
            "joe needs espeak-ng, which pronounces the words. Install espeak-ng with your system's "
            "package manager, or in ollm's environment: pip install espeakng-loader.",
        ),
    ],
)
def test_what_is_not_installed_is_named_with_its_command(
    folder: Path, name: str, task: SoundTask, packages: set[str], text: str
) -> None:
    error = refusal(planner(folder, packages=packages), name, task)
    assert (error.code, str(error)) == (ErrorCode.MODEL_NOT_LOADED, text)


def test_a_model_for_something_else_is_refused(folder: Path, espeak: Path) -> None:
    them = planner(folder, espeak)
    assert refusal(them, "joe", "transcription").message == "joe cannot transcribe."
    assert refusal(them, "espeak-ng", "transcription").message == "espeak-ng cannot transcribe."
    assert refusal(them, "ggml-base", "speech").message == "ggml-base cannot speak."
    assert refusal(them, "gone", "speech").code == ErrorCode.MODEL_NOT_FOUND
    assert refusal(planner(folder), "espeak-ng", "speech").code == ErrorCode.MODEL_NOT_FOUND


def test_a_broken_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "ggml-base.bin").write_bytes(b"lmgg")
    error = refusal(planner(tmp_path), "ggml-base", "transcription")
    assert error.message == "ggml-base cannot be used: it ends in the middle of its header."


def test_the_settings_beside_a_file_choose_engine_file_and_options(folder: Path) -> None:
    (folder / "ggml-small.bin").write_bytes(whisper_header())
    (folder / "ggml-base.config.yaml").write_text(
        "engine: whisper.cpp\nmodelPath: ggml-small.bin\n"
        "engineOptions: {threads: 2, language: de, translate: true}\n",
        encoding="utf-8",
    )
    plan = planner(folder).plan("ggml-base", "transcription")
    assert plan is not None
    assert plan.path == folder / "ggml-small.bin"
    assert plan.options == {"threads": 2, "language": "de", "translate": True}


@pytest.mark.parametrize("pattern", ["'joe*'", "!re /^JOE/i", "joe"])
def test_a_family_chooses_the_engine_of_the_models_that_its_patterns_match(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, pattern: str
) -> None:
    families = tmp_path_factory.mktemp("families")
    (families / "voices.yaml").write_text(
        f"_id: voices\nengine: another\nmodelPattern: {{'@': {pattern}}}\n", encoding="utf-8"
    )
    known = KnownModels(families)
    them = SoundPlanner(FolderLibrary([folder]), known, EmbeddedSettings(), has_package=bool)
    assert refusal(them, "joe", "speech").message == "The engine another does not run joe."
    assert them.plan("ggml-base", "transcription") is not None


def test_a_family_names_no_file_that_is_loaded(folder: Path, tmp_path: Path) -> None:
    families = tmp_path / "families"
    families.mkdir()
    (families / "voices.yaml").write_text(
        "_id: voices\nmodelPath: other.onnx\nmodelPattern: {'@': 'joe*'}\n", encoding="utf-8"
    )
    (problem,) = KnownModels(families).problems()
    assert "`modelPath` names a file, which a family has none of." in problem.message


@pytest.mark.parametrize("name", ["../other.onnx", "/other.onnx"])
def test_a_file_outside_the_folder_of_the_model_is_not_loaded(folder: Path, name: str) -> None:
    (folder / "joe.config.yaml").write_text(f"modelPath: {name}\n", encoding="utf-8")
    error = refusal(planner(folder), "joe", "speech")
    assert error.code == ErrorCode.BAD_REQUEST
    assert "`modelPath` must be the name of a file in the folder of the model" in error.message
    assert "joe.config.yaml:1" in error.message


def test_a_link_out_of_the_folder_of_the_model_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "link.onnx").symlink_to(put_voice(tmp_path_factory.mktemp("other")))
    (folder / "joe.config.yaml").write_text("modelPath: link.onnx\n", encoding="utf-8")
    error = refusal(planner(folder), "joe", "speech")
    assert error.message == (
        "`modelPath` of joe.config.yaml names a link to another folder: link.onnx."
    )


def test_the_threads_of_the_settings_count_before_those_beside_a_file(folder: Path) -> None:
    (folder / "joe.config.yaml").write_text("engineOptions: {threads: 2}\n", encoding="utf-8")
    plan = planner(folder, engine=EngineSettings(threads=3)).plan("joe", "speech")
    assert plan is not None
    assert plan.options == {"threads": 3}


def test_an_engine_that_cannot_run_a_model_is_refused(folder: Path) -> None:
    (folder / "ggml-base.config.yaml").write_text("engine: piper\n", encoding="utf-8")
    error = refusal(planner(folder), "ggml-base", "transcription")
    assert str(error) == (
        "The engine piper does not run ggml-base. "
        "Set `engine` beside its file to whisper.cpp, or remove it."
    )


async def test_the_provider_lists_and_shows_what_hears_and_speaks(
    folder: Path, espeak: Path
) -> None:
    settings = EmbeddedSettings(espeak=espeak)
    async with EmbeddedProvider(FolderLibrary([folder]), settings) as provider:
        models = {info.name: info for info in await provider.list_models()}
        assert models.keys() == {"joe", "ggml-base", "espeak-ng"}
        assert all(info.context is None and not info.loaded for info in models.values())
        shown = await provider.show_model("espeak-ng")
        assert shown.details["voices"] == ["de"]
        with pytest.raises(AIError, match="package manager"):
            await provider.delete_model("espeak-ng")


def test_espeak_is_the_one_of_the_settings_else_the_one_on_path(espeak: Path) -> None:
    on_path = {"PATH": str(espeak.parent)}
    assert espeak_program(None, on_path) == espeak
    assert espeak_program("none", on_path) is None
    assert espeak_program(Path("/other"), on_path) == Path("/other")
    assert espeak_program(None, {"PATH": "/nowhere"}) is None


@pytest.mark.parametrize(
    ("rule", "name", "is_about"),
    [
        ("qwen-7b", "qwen-7b", True),
        ("qwen-7b", "owner/Qwen-7B.gguf", True),
        ("qwen-7b", "qwen-7b-chat", False),
        ("qwen*", "Qwen3:8b", True),
        (re.compile(r"(?:^|-)(qwen|qwq)", re.IGNORECASE), "my-QwQ", True),
        (re.compile(r"^qwen"), "my-qwen", False),
        (lambda name: "diffusion" in name, "stable-diffusion-xl", True),
        (lambda name: "diffusion" in name, "flux", False),
    ],
)
def test_a_rule_is_a_text_a_glob_a_pattern_or_a_predicate(
    rule: ModelNameRule, name: str, is_about: bool
) -> None:
    assert matches(rule, name) is is_about


def test_the_first_rule_that_is_about_a_model_counts() -> None:
    rules = [
        EngineRule(engine="a", kinds=frozenset({"voice"}), rule="joe*"),
        EngineRule(engine="b", kinds=frozenset({"voice"})),
        EngineRule(engine="c", kinds=frozenset({"image"})),
    ]
    assert engine_for("joe-2", "voice", rules=rules) == "a"
    assert engine_for("anna", "voice", rules=rules) == "b"
    assert engine_for("joe", "voice", "b", rules) == "b"
    assert engine_for("joe", "video", rules=rules) is None


def test_a_gguf_file_that_hears_names_the_files_that_can_be_used(folder: Path) -> None:
    name = pair("general.architecture", 8, text("whisper"))
    (folder / "whisper-base.gguf").write_bytes(file_of(name))
    error = refusal(planner(folder), "whisper-base", "transcription")
    assert "whisper.cpp reads ggml-….bin files only" in error.message
    assert "hf://ggerganov/whisper.cpp/ggml-base.bin" in (error.hint or "")
