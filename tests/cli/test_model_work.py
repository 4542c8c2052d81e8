"""`ollm models create`, `quantize` and `push`, said in sentences, JSON and exit codes."""

import json
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.config.paths import default_paths
from tests.cli.conftest import Run
from tests.library.gguf_bytes import file_of
from tests.support.fake_ollama import OllamaServer
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Server, in_thread
from tests.support.seeing_gguf import write_seeing

PROFILES = """\
[options]
top_k = 40
[profiles.coding]
model = "local://tiny"
system_prompt = "You review code."
tools = ["current_time"]
schema = "answer.json"
[profiles.coding.options]
temperature = 0.2
num_ctx = 8192
keep_alive = "5m"
extra_body = { logprobs = true }
"""


def write_settings(text: str) -> None:
    path = default_paths().config_file
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")


def test_a_profile_becomes_a_model(models: Run, server: OllamaServer) -> None:
    write_settings(PROFILES)
    code, out, err = models("create", "coder", "--profile", "coding")
    assert (code, out) == (0, "ollama://coder\n")
    assert err.splitlines()[0] == (
        "ollm: A model cannot keep these settings of the profile: tools, keep_alive, extra_body,"
        " schema."
    )
    assert err.splitlines()[-1] == "ollm: Created coder."
    assert server.made["coder:latest"] == {
        "model": "coder",
        "from": "tiny:latest",
        "system": "You review code.",
        "parameters": {"temperature": 0.2, "num_ctx": 8192},
        "stream": True,
    }


def test_a_system_prompt_that_is_a_template_stays_out_of_a_model(
    models: Run, server: OllamaServer
) -> None:
    write_settings(
        '[profiles.p]\nmodel = "local://tiny"\nsystem_prompt = "{{ 1 }}"\n'
        'system_prompt_format = "hf"\n'
    )
    code, _, err = models("create", "coder", "--profile", "p")
    assert (code, err.splitlines()[0].partition(": ")[2]) == (
        0,
        "A model cannot keep these settings of the profile: system_prompt (a template).",
    )
    assert "system" not in server.made["coder:latest"]


def test_a_file_becomes_a_model(
    models: Run, server: OllamaServer, served: Server, tmp_path: Path
) -> None:
    for part in (1, 2):
        path = tmp_path / f"big-{part:05}-of-00002.gguf"
        path.write_bytes(file_of() + b"x" * part)
    template = tmp_path / "template"
    template.write_text("{{ .Prompt }}")
    source = str(tmp_path / "big-00002-of-00002.gguf")
    code, out, _ = models("create", "mine", source, "--template", str(template), "--json")
    steps = [json.loads(line) for line in out.splitlines()]
    assert (code, steps[-1]) == (0, {"type": "finish", "reason": "stop", "model": "local://mine"})
    assert {step["type"] for step in steps[:-1]} == {"create_progress"}
    assert list(server.made["mine:latest"]["files"]) == [  # type: ignore[call-overload]
        "big-00001-of-00002.gguf",
        "big-00002-of-00002.gguf",
    ]
    assert server.made["mine:latest"]["template"] == "{{ .Prompt }}"
    sent = [one.method for one in served.received if one.path.startswith("/api/blobs")]
    assert sent == ["HEAD", "POST"] * 2


def test_a_model_of_the_built_in_engine_is_sent_too(models: Run, server: OllamaServer) -> None:
    folder = default_paths().models_dir
    folder.mkdir(parents=True)
    (folder / "small.gguf").write_bytes(file_of())
    assert models("create", "mine", "built-in://small")[0] == 0
    assert list(server.made["mine:latest"]["files"]) == ["small.gguf"]  # type: ignore[call-overload]


def test_the_image_encoder_of_a_model_is_sent_with_it(models: Run, server: OllamaServer) -> None:
    folder = default_paths().models_dir / "o--r"
    folder.mkdir(parents=True)
    write_seeing(folder / "see-Q4_K_M.gguf", folder / "mmproj-F16.gguf")
    assert models("create", "mine", "built-in://see-Q4_K_M")[0] == 0
    files = server.made["mine:latest"]["files"]
    assert list(files) == ["see-Q4_K_M.gguf", "mmproj-F16.gguf"]  # type: ignore[call-overload]


def test_a_model_is_replaced_only_when_that_is_wanted(models: Run, server: OllamaServer) -> None:
    code, out, err = models("create", "thinker", "tiny")
    assert (code, out, server.made) == (3, "", {})
    assert "no terminal for confirmation" in err
    assert models("create", "thinker", "tiny", "--yes", "--system", "Hi.")[0] == 0
    assert server.made["thinker:latest"]["system"] == "Hi."


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["create", "mine"], 2, "Name what the model is made of"),
        (["create", "mine", "gone"], 1, "gone"),
        (["create", "mine", "./gone.gguf"], 1, "There is no file gone.gguf."),
        (["create", "mine", "tiny", "--template", "gone"], 2, "gone cannot be read"),
        (["create", " ", "tiny"], 2, "name is empty"),
        (["quantize", "tiny", "q4_K_M", "small"], 1, "only supported for F16"),
        (["quantize", "tiny", " ", "small"], 2, "is empty"),
        (["push", "tiny"], 1, "ollama signin"),
        (["push", "gone"], 1, "gone"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], code: int, says: str, models: Run, server: OllamaServer
) -> None:
    done, out, err = models(*arguments)
    assert (done, out, server.made) == (code, "", {})
    assert says in err


def test_a_model_is_quantized_and_pushed(models: Run, server: OllamaServer) -> None:
    server.models["me/big:f16"] = ["completion"]
    code, out, err = models("quantize", "me/big:f16", "q8_0", "me/big:q8")
    assert (code, out) == (0, "ollama://me/big:q8\n")
    assert "ollm: me/big:f16: 50 %  500 kB of 1 MB" in err.splitlines()
    assert err.splitlines()[-1] == "ollm: Quantized me/big:f16 as me/big:q8."
    code, out, err = models("push", "me/big:q8")
    assert (code, out) == (0, "ollama://me/big:q8\n")
    assert err.splitlines()[-1] == "ollm: Pushed me/big:q8."


def test_a_copy_replaces_a_model_only_when_that_is_wanted(
    models: Run, server: OllamaServer
) -> None:
    server.models["me/big:f16"] = ["completion"]
    server.models["me/big:q8"] = ["completion"]
    code, out, err = models("quantize", "me/big:f16", "q8_0", "me/big:q8")
    assert (code, out, server.made) == (3, "", {})
    assert "no terminal for confirmation" in err
    assert models("quantize", "me/big:f16", "q8_0", "me/big:q8", "--yes")[0] == 0
    code, _, err = models("quantize", "me/big:f16", "q8_0", "me/big:f16", "--yes")
    assert code == 1
    assert "The copy would replace the model itself." in err


def test_other_servers_refuse_it_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with in_thread(FakeOpenAI()) as other:
        named = ["--provider", "vllm", "--host", other.url]
        for words, says in (
            (["create", "mine", "m"], "vLLM cannot create models."),
            (["push", "vllm://tiny"], "vLLM cannot push models."),
            (["quantize", "vllm://tiny", "q8_0", "b"], "vLLM cannot quantize models."),
        ):
            assert main(["models", *words, *named]) == 1
            assert says in capsys.readouterr().err


def test_a_command_of_ollama_works_at_the_top(
    served: Server, server: OllamaServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["create", "mine", "tiny", "--host", served.url]) == 0
    assert capsys.readouterr().out == "ollama://mine\n"
    assert "mine:latest" in server.made
