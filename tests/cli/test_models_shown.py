"""`ollm models list`, `show`, `load` and `ps`: what is known of models, in columns and sections."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.model_format import can_text, fit_text, setting_row, template_text
from ollm_tui.cli.model_list import sorted_by
from ollm_tui.library.fit import Fit
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.runtime.details import EffectiveValue, TemplateFacts
from tests.cli.conftest import Run
from tests.support.fake_backends import FakeLMStudio
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Server, in_thread


def test_a_list_is_filtered_by_all_words_and_sorted(models: Run) -> None:
    code, out, _err = models("list")
    assert code == 0
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["MODEL", "SIZE", "QUANT", "CONTEXT", "CAN", "LOADED", "MODIFIED"]
    assert [row[0] for row in rows] == ["ollama://tiny:latest", "ollama://thinker:latest"]
    assert models("list", "q4_0", "THINK")[1].splitlines()[1].startswith("ollama://thinker:latest")
    assert len(models("list", "q4_0", "THINK")[1].splitlines()) == 2
    named = models("list", "--sort", "name")[1].splitlines()[1:]
    assert [row.split()[0] for row in named] == ["ollama://thinker:latest", "ollama://tiny:latest"]
    assert models("list", "nosuch") == (1, "", "ollm: No model fits 'nosuch'.\n")
    assert models("list", "--sort", "beauty")[0] == 2


def test_what_cannot_be_used_is_listed_as_unusable() -> None:
    text = frozenset({"text"})
    half = ModelInfo(name="half", capability=ModelCapability(text, text))
    assert can_text(half) == "chat"
    assert can_text(replace(half, details={"problem": "part 3 of 4 is missing"})) == "unusable"


def test_a_list_tells_programs_all_that_is_known(models: Run) -> None:
    entries = json.loads(models("list", "--json")[1])
    assert [entry["name"] for entry in entries] == ["tiny:latest", "thinker:latest"]
    tiny = entries[0]
    assert tiny["quantization"] == "Q4_0"
    assert tiny["details"]["family"] == "tiny"
    assert (tiny["loaded"], tiny["details"]["memory_bytes"]) == (True, 2000)
    assert tiny["abilities"]["vision"] == {"value": False, "source": "known"}
    assert tiny["modified_at"][:10] == "2026-01-02"
    assert tiny["capability"]["input"] == ["text"]


def test_only_the_provider_that_is_named_is_asked(
    models: Run, served: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(FakeLMStudio()) as lab:
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BASE_URL", lab.url)
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BACKEND", "lmstudio")
        monkeypatch.setenv("OLLAMA_HOST", served.url)
        code = main(["models", "list", "--provider", "lab", "--json"])
    assert code == 0
    assert not any(request.path == "/api/tags" for request in served.received)


def test_unknown_values_are_sorted_last_whatever_the_column() -> None:
    infos = [
        ModelInfo(name="b", size_bytes=1, context=5),
        ModelInfo(name="a"),
        ModelInfo(name="C", size_bytes=9, context=2, modified_at="2026-01-01"),
    ]
    found = [(ModelRef("p", info.name), info) for info in infos]

    def names(column: str | None) -> str:
        return "".join(ref.model for ref, _ in sorted_by(column, found))

    assert [names(c) for c in (None, "name", "size", "context", "modified", "provider")] == [
        "baC", "abC", "Cba", "bCa", "Cba", "abC",
    ]  # fmt: skip


def test_abilities_are_few_words_with_how_they_are_known() -> None:
    text = frozenset({"text"})
    known = ModelCapability(text | {"image"}, text, frozenset({"tool_use"}))
    assert can_text(ModelInfo(name="m", capability=known)) == "chat vision tools"
    assumed = ModelCapability(text, text, frozenset({"tool_use", "thinking"}))
    assert can_text(ModelInfo(name="qwen3:8b", assumed=assumed)) == "tools? thinking?"
    scores = ModelCapability(text, frozenset({"score"}))
    assert can_text(ModelInfo(name="m", assumed=scores)) == "rerank?"
    assert can_text(ModelInfo(name="m", capability=scores)) == "rerank"
    draws = ModelCapability(text | {"audio"}, frozenset({"image"}))
    assert can_text(ModelInfo(name="m", capability=draws)) == "image audio-input"


def test_the_settings_of_a_model_stand_with_their_source(models: Run, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[options]\ntemperature = 0.25\nnum_ctx = 3000\n")
    code, out, _err = models("show", "tiny", "--config", str(file))
    rows = {line.split(maxsplit=1)[0]: line for line in out.splitlines() if line.strip()}
    assert code == 0
    assert rows["temperature"].split(maxsplit=2)[1:] == ["0.25", f"{file}:2, options.temperature"]
    assert rows["num_ctx"].endswith("options.num_ctx (instead of 2048, the model file)")
    assert rows["top_p"].split(maxsplit=2)[1:] == ["-", "the default of Ollama"]
    assert rows["WINDOWS"].endswith("trained 8192, configured 3000, loaded 4096")
    shown_json = json.loads(models("show", "tiny", "--json", "--config", str(file))[1])
    [temperature] = [one for one in shown_json["settings"] if one["name"] == "temperature"]
    assert temperature["value"] == "0.25"
    [window] = [one for one in shown_json["settings"] if one["name"] == "num_ctx"]
    assert window["instead_of"] == [{"value": "2048", "source": "the model file"}]
    assert (shown_json["windows"]["tokens"], shown_json["windows"]["trained"]) == (3000, 8192)
    assert shown_json["licence"].startswith("A licence.")
    assert (shown_json["template"], shown_json["gpu_share"]) == ("{{ .Prompt }}", 0.5)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--license", "A licence.\n\nWith two paragraphs.\n"),
        ("--template", "{{ .Prompt }}\n"),
        ("--parameters", "num_ctx  2048\nstop     <end>\n"),
        ("--system-prompt", "You are tiny.\n"),
        ("--modelfile", "FROM tiny:latest\n"),
    ],
)
def test_one_text_of_a_model_stands_alone(models: Run, option: str, text: str) -> None:
    assert models("show", "tiny", option)[:2] == (0, text)
    shown_json = json.loads(models("show", "tiny", option, "--json")[1])
    assert set(shown_json) == {"model", "system" if option == "--system-prompt" else option[2:]}
    assert next(iter(shown_json.values())) == "local://tiny:latest"


def test_a_text_that_a_provider_does_not_tell_is_reported_as_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(FakeLMStudio()) as lab:
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BASE_URL", lab.url)
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BACKEND", "lmstudio")
        code = main(["models", "show", "lab://tiny", "--license"])
        captured = capsys.readouterr()
        both = main(["models", "show", "lab://tiny", "--license", "--template"])
    assert (code, captured.out) == (1, "")
    assert captured.err == "ollm: tiny has no license.\n"
    assert both == 2


def test_a_model_is_loaded_for_as_long_as_the_user_wants(models: Run, server: OllamaServer) -> None:
    sent = []
    for time in ("10m", "-1", "forever"):
        assert models("load", "thinker", "--keep-alive", time)[0] == 0
        sent.append(server.kept["thinker:latest"])
    assert sent == ["10m", -1, -1]
    row = next(line for line in models("ps")[1].splitlines() if "thinker" in line)
    assert "2 kB    50 %    4096     forever  Ollama at http://127.0.0.1:" in row
    shown_json = json.loads(models("ps", "--json")[1])
    assert {entry["gpu_share"] for entry in shown_json} == {0.5}
    assert all(entry["place"].startswith("Ollama at ") for entry in shown_json)
    code, _out, err = models("load", "tiny", "--keep-alive", "soon")
    assert (code, err) == (
        1,
        "ollm: 'soon' is not a valid duration. "
        'It must be a number of seconds, text like "5m", or "forever".\n',
    )


def test_a_provider_that_takes_no_time_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeLMStudio()
    with in_thread(fake) as lab:
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BASE_URL", lab.url)
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__BACKEND", "lmstudio")
        monkeypatch.setenv("OLLM_PROVIDERS__LAB__LABEL", "LM Studio")
        code = main(["models", "load", "lab://big", "--keep-alive", "10m"])
    assert code == 1
    assert "LM Studio cannot be told how long to keep a model." in capsys.readouterr().err
    assert fake.loaded["big"] == []


def test_a_fit_is_a_verdict_with_its_numbers() -> None:
    gpu = Gpu(name="G", total=8_000_000_000)
    machine = Machine(ram_total=16_000_000_000, ram_free=9_000_000_000, gpus=(gpu,))
    fit = Fit(
        verdict="partly",
        weights=9_000_000_000,
        cache=1_000_000_000,
        overhead=500_000_000,
        context=8192,
        kv_type="f16",
        machine=machine,
        gpu_share=0.7,
        is_estimate=True,
    )
    assert fit_text(fit) == (
        "partly: 70 % on the GPU, about 10 of 16 GB free; "
        "9.0 GB model, 1.0 GB context of 8192 tokens"
    )
    draft = replace(fit, beside=2_000_000_000)
    assert fit_text(draft).endswith("8192 tokens, 2.0 GB beside it")
    assert draft.needed == fit.needed + 2_000_000_000
    assert fit_text(None) == ""


def test_where_the_engine_says_otherwise_its_word_stands_beside_the_template() -> None:
    abilities = (("tools", True), ("thinking", False))
    facts = TemplateFacts(format="jinja2", abilities=abilities)
    assert template_text(facts) == "tools"
    differs = (("tools", False), ("thinking", True))
    assert template_text(replace(facts, differs=differs)) == (
        "tools; the engine reports: tools no, thinking yes"
    )


def test_a_setting_is_one_row_however_long_its_values_are() -> None:
    below = EffectiveValue(name="system_prompt", value="b" * 5000, source="the model file")
    unknown = EffectiveValue(name="system_prompt", value="", source="the engine's default")
    long = EffectiveValue(
        name="system_prompt", value="a\n" * 5000, source="settings", beneath=(below, unknown)
    )
    name, value, source = setting_row(long)
    assert (name, len(value) < 120, "\n" in value) == ("system_prompt", True, False)
    assert source.endswith("…, the model file; -, the engine's default)")
    assert len(source) < 200
