"""A profile that is chosen counts as settings, and each value still tells where it came from."""

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.named import named_by
from ollm_tui.config.reference import config_rows
from tests.config.conftest import Load

TEXT = """\
model = "base"
system_prompt = "Be kind."
[options]
temperature = 0.7
top_k = 40
[profiles.coding]
model = "local://coder"
system_prompt = ""
thinking = "low"
tools = ["current_time"]
[profiles.coding.options]
temperature = 0.1
stop = ["END"]
[profiles.plain]
tools = []
"""


def test_a_chosen_profile_counts_more_than_the_rest_of_the_file(load: Load) -> None:
    loaded = load(TEXT, flags=Flags(profile="coding"))
    config = loaded.config
    assert (config.model, config.system_prompt, config.thinking) == ("local://coder", "", "low")
    assert config.tools.enabled == ["current_time"]
    assert (config.options.temperature, config.options.top_k) == (0.1, 40)
    assert config.options.stop == ["END"]
    assert loaded.problems == ()
    places = {row.key: row.origin.rpartition(":")[2] for row in config_rows(loaded)}
    assert (places["model"], places["options.temperature"], places["options.top_k"]) == (
        "7",
        "12",
        "5",
    )
    assert places["profile"] == "--profile"


@pytest.mark.parametrize(
    ("environ", "flags", "language"),
    [
        ({}, Flags(), "jinja2"),
        ({"OLLM_SYSTEM_PROMPT": "{{ a }}"}, Flags(), None),
        ({}, Flags(system="{{ a }}"), None),
        ({}, Flags(profile="plain"), None),
        ({}, Flags(profile="other"), "hf"),
        ({}, Flags(profile="neither"), "jinja2"),
        ({}, Flags(profile="other", system="{{ a }}"), None),
        ({"OLLM_SYSTEM_PROMPT_FORMAT": "hf"}, Flags(), "hf"),
    ],
)
def test_the_language_of_a_system_prompt_goes_with_its_text(
    load: Load, environ: dict[str, str], flags: Flags, language: str | None
) -> None:
    text = (
        'system_prompt = "{{ 1 }}"\nsystem_prompt_format = "jinja2"\n[profiles.plain]\n'
        'system_prompt = "{{ 2 }}"\n[profiles.neither]\nthinking = "low"\n[profiles.other]\n'
        'system_prompt = "{{ 3 }}"\nsystem_prompt_format = "hf"\n'
    )
    loaded = load(text, environ, flags)
    assert loaded.config.system_prompt_format == language
    assert loaded.problems == ()


def test_without_a_choice_profiles_change_nothing(load: Load) -> None:
    for flags in (Flags(), Flags(profile="none"), Flags(profile="NONE"), Flags(profile="plain")):
        config = load(TEXT, flags=flags).config
        assert (config.model, config.options.temperature, config.thinking) == ("base", 0.7, None)


@pytest.mark.parametrize(
    ("environ", "flags", "model", "temperature"),
    [
        ({"OLLM_MODEL": "env"}, Flags(profile="coding"), "local://coder", 0.1),
        ({"OLLM_MODEL": "env", "OLLM_PROFILE": "coding"}, Flags(), "env", 0.1),
        ({"OLLM_PROFILE": "plain"}, Flags(profile="coding"), "local://coder", 0.1),
        ({"OLLM_PROFILE": "coding"}, Flags(profile="none"), "base", 0.7),
        ({}, Flags(profile="coding", model="typed"), "typed", 0.1),
        ({"OLLM_PROFILES__CODING__MODEL": "env"}, Flags(profile="coding"), "env", 0.1),
        # the model of another provider than the one that is typed
        ({}, Flags(profile="coding", provider="vllm"), None, 0.1),
    ],
)
def test_what_is_nearer_to_the_person_counts_more(
    load: Load, environ: dict[str, str], flags: Flags, model: str | None, temperature: float
) -> None:
    config = load(TEXT, environ, flags).config
    assert (config.model, config.options.temperature) == (model, temperature)


def test_the_file_can_choose_a_profile_in_any_case(load: Load) -> None:
    loaded = load('profile = "CODING"\n' + TEXT)
    assert (loaded.config.profile, loaded.config.model) == ("coding", "local://coder")
    assert loaded.profile is loaded.config.profiles["coding"]


def test_an_unknown_profile_is_named_and_no_model_takes_its_place(load: Load) -> None:
    loaded = load(TEXT, flags=Flags(profile="codng"))
    (problem,) = loaded.problems
    assert problem.message == "--profile names an unknown profile."
    assert problem.advice == "Did you mean `coding`?"
    named = named_by(loaded)
    assert named.problem is problem
    assert named.address is None


def test_the_model_of_a_profile_wins_over_that_of_a_saved_chat(load: Load) -> None:
    named = named_by(load(TEXT, flags=Flags(profile="coding")))
    assert named.model_for_chat("local://saved") == "local://coder"
    named = named_by(load(TEXT, flags=Flags(profile="plain")))
    assert named.model_for_chat("local://saved") == "local://saved"


def test_a_wrong_value_of_a_profile_is_reported_once_and_leaves_the_rest(load: Load) -> None:
    text = "[options]\nseed = 5\n[profiles.p]\nmodel = 5\n[profiles.p.options]\nseed = true\n"
    loaded = load(text + "top_k = 3\n", flags=Flags(profile="p"))
    assert [problem.key for problem in loaded.problems] == [
        "profiles.p.model",
        "profiles.p.options.seed",
    ]
    assert (loaded.config.options.seed, loaded.config.options.top_k) == (5, 3)
    assert named_by(loaded).problem is loaded.problems[0]
