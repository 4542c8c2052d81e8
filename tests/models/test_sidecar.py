"""What the settings beside a model file change about how it is loaded and described."""

from pathlib import Path

import pytest

from ollm_tui.models.capabilities import ModelOverrides
from ollm_tui.models.family_facts import ModelKnowledge
from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.sidecar import (
    engine_settings,
    loading_values,
    own_abilities,
    own_format,
    own_template,
    own_window,
)
from ollm_tui.protocol.errors import AIError

FAMILY = """
_id: Fam
modelPattern: {'@': fam}
context: 9000
template: of the family
supports: [tools, vision, thinkMode: [deep]]
prompt: {mark: '<"f">', messages: no, other: x}
engineOptions: {cache_type_k: q8_0, flash_attention: true}
"""


def known(folder: Path, text: str, family: str = FAMILY) -> ModelKnowledge:
    families = folder / "families"
    families.mkdir(exist_ok=True)
    (families / "fam.yaml").write_text(family)
    (folder / "fam.config.yaml").write_text(text)
    return KnownModels(families).of(["fam"], folder / "fam.gguf")


def test_engine_options_of_family_and_sidecar_count_one_by_one(tmp_path: Path) -> None:
    text = """
engineOptions:
  cache_type_k: f16
  gpu_layers: 0
  lora: [red.gguf, adapters/blue.gguf]
  draft_tokens: 3
"""
    model = known(tmp_path, text)
    loaded = engine_settings(model)
    assert model.problems == ()
    assert loaded.to_dict(only_given=True) == {
        "cache_type_k": "f16",
        "draft_tokens": 3,
        "flash_attention": True,
        "gpu_layers": 0,
        "lora": [tmp_path / "red.gguf", tmp_path / "adapters" / "blue.gguf"],
    }
    cache = next(one for one in loading_values(model) if one.name == "cache_type_k")
    assert (cache.value, cache.layer, cache.beneath[0].value) == ("f16", "sidecar", "q8_0")
    assert cache.origin == "the settings beside the file (fam.config.yaml:3)"
    assert cache.beneath[0].origin.startswith("the family Fam (")


REFUSED = {
    "engineOptions: {lora: [/etc/passwd]}": ":1: `engineOptions.lora.0` must be the name of a file",
    "engineOptions: {draft_model: ../x.gguf}": ":1: `engineOptions.draft_model` must be the name",
    "engineOptions: {chat_template: 'C:\\x'}": ":1: `engineOptions.chat_template` must be the name",
    "engineOptions: {lora: ['a\\..\\b']}": ":1: `engineOptions.lora.0` must be the name of a file",
    'engineOptions: {draft_model: "a\\0"}': ":1: `engineOptions.draft_model` must be the name",
    "engineOptions:\n  host: 0.0.0.0": ":2: Unknown key `engineOptions.host`.",
    "engineOptions:\n  port: 1": ":2: Unknown key `engineOptions.port`.",
    "engineOptions:\n  args: [--host]": ":2: Unknown key `engineOptions.args`.",
    "engineOptions:\n  path: x": ":2: Unknown key `engineOptions.path`.",
    "engineOptions:\n  gpu_layer: 1": ":2: Unknown key `engineOptions.gpu_layer`. Did you mean `g",
    "engineOptions: {cache_type_k: q9}": ":1: `engineOptions.cache_type_k` must be one of 'f32'",
    "engineOptions: {threads: 5000}": ":1: `engineOptions.threads` must be at most 1024.",
    "template: x\nengineOptions: {chat_template: y}": "has both `template` and `engineOptions.chat",
}


def test_what_a_sidecar_may_not_set_is_named_with_file_and_line(tmp_path: Path) -> None:
    for text, sentence in REFUSED.items():
        model = known(tmp_path, text)
        (problem,) = model.problems
        assert sentence in str(problem), text
        assert str(problem).startswith(str(tmp_path / "fam.config.yaml"))
        assert engine_settings(model).lora == []


def test_a_family_names_no_files(tmp_path: Path) -> None:
    family = "_id: Fam\nmodelPattern: {a: fam}\nversion: {a: {engineOptions: {lora: [x.gguf]}}}"
    model = known(tmp_path, "", family)
    assert "`version.a.engineOptions.lora` names a file, which a family has" in str(model.problems)
    full = known(tmp_path, "_id: Own\nengineOptions: {lora: [x.gguf]}")
    assert engine_settings(full).lora == [tmp_path / "x.gguf"]


def test_a_link_out_of_the_folder_of_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.gguf").touch()
    (tmp_path / "inside.gguf").symlink_to("in.gguf")
    (tmp_path / "outside.gguf").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    model = known(tmp_path, "engineOptions: {lora: [inside.gguf]}")
    assert engine_settings(model).lora == [tmp_path / "in.gguf"]
    for name in ("outside.gguf", "folder/passwd"):
        model = known(tmp_path, f"engineOptions: {{lora: [{name}]}}")
        with pytest.raises(AIError, match=f"names a link to another folder: {name}"):
            engine_settings(model)


ABILITIES = {
    "{}": (None, None, None),
    "supports: [tools]": (None, True, None),
    "supports: [vision, parallelTools, thinkMode: ['off']]": (True, True, False),
    "supports: [thinkMode: [deep, 'off']]": (None, None, True),
    "capability: {input: [text], output: [text]}": (False, False, False),
    "capability: {input: [text, image], output: [text], features: [tool_use, thinking]}": (
        *(True, True, True),
    ),
}


def test_only_what_the_sidecar_itself_says_counts(tmp_path: Path) -> None:
    for text, (vision, tools, thinking) in ABILITIES.items():
        expected = ModelOverrides(vision=vision, tools=tools, thinking=thinking)
        assert own_abilities(known(tmp_path, text)) == expected, text
    plain = known(tmp_path, "{}")
    assert (own_window(plain), own_template(plain), own_format(plain)) == (None, None, None)
    assert own_window(known(tmp_path, "context: 512")) == 512
    assert own_format(known(tmp_path, "templateFormat: jinja2")) == "jinja2"


def test_the_variables_of_a_template_are_set_in_it(tmp_path: Path) -> None:
    text = "template: '{{ mark }}{{ messages }}{{ another }}'\nprompt: {another: ''}"
    model = known(tmp_path, text)
    model = known(tmp_path, text.partition("\n")[0])
    assert own_template(model) == (
        '{%- set mark = "<\\"f\\">" %}{{ mark }}{{ messages }}{{ another }}'
    )
    (template,) = [one for one in loading_values(model) if one.name == "chat_template"]
    assert template.value == "a text of 37 characters"
