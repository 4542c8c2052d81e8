"""Recommended values of known models: filled in, and never over what a person chose."""

from ollm_tui.models.known_models import KnownModels, ModelDefaults, defaults_of
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.embedded.settings import with_defaults

DEFAULTS = ModelDefaults(
    system_prompt="Be kind.", options=GenerationOptions(temperature=0.0, repeat_penalty=1.1)
)
USER = Message("user", "hi")


def request(
    *messages: Message,
    system_prompt: str | None = None,
    options: GenerationOptions | None = None,
) -> Request:
    return Request(
        model="m",
        messages=messages or [USER],
        system_prompt=system_prompt,
        options=options or GenerationOptions(),
    )


def test_what_is_open_is_filled_in() -> None:
    filled = with_defaults(request(options=GenerationOptions(top_p=0.5)), DEFAULTS)
    assert filled.system_prompt == "Be kind."
    assert filled.options == GenerationOptions(top_p=0.5, temperature=0.0, repeat_penalty=1.1)


def test_what_a_person_chose_stays() -> None:
    options = GenerationOptions(temperature=1.5, repeat_penalty=1.0)
    chosen = request(system_prompt="Be rude.", options=options)
    assert with_defaults(chosen, DEFAULTS) == chosen


def test_an_empty_system_prompt_is_a_choice() -> None:
    assert with_defaults(request(system_prompt=""), DEFAULTS).system_prompt == ""


def test_a_system_message_counts_as_a_system_prompt() -> None:
    instructed = request(Message("system", "Be rude."), USER)
    assert with_defaults(instructed, DEFAULTS).system_prompt is None


def test_models_that_are_not_known_get_nothing() -> None:
    known = KnownModels().of(["my-model"])
    assert with_defaults(request(), defaults_of(known)) == request()


def test_the_starter_model_is_known_by_its_file() -> None:
    known = defaults_of(KnownModels().of(["SmolLM2-135M-Instruct.Q4_1"]))
    assert known.system_prompt == "You are a helpful assistant."
    assert known.options == GenerationOptions(temperature=0.0, repeat_penalty=1.1)
