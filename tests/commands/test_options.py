import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.commands.host import OptionRefused
from ollm_tui.commands.options import OPTION_FORMS, change_option, show_value
from ollm_tui.protocol.request import GenerationOptions


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", "0.2", 0.2),
        ("temperature", "0.123456789", 0.123456789),
        ("temperature", "0", 0.0),
        ("num_ctx", "8192", 8192),
        ("num-ctx", "8192", 8192),
        ("seed", "-1", -1),
        ("top_p", "1", 1.0),
        ("stop", 'END "two words"', ("END", "two words")),
        ("response_format", "JSON", "json"),
        ("keep_alive", "5m", "5m"),
        ("keep_alive", "1h30m", "1h30m"),
        ("keep_alive", "-1", -1.0),
        ("keep_alive", "300", 300.0),
    ],
)
def test_an_option_takes_a_value_of_its_form(name: str, text: str, value: object) -> None:
    options, sentence = change_option(GenerationOptions(), name, text)
    known = name.replace("-", "_")
    assert getattr(options, known) == value
    assert sentence == f"{known} is now {show_value(value)}."
    assert not isinstance(value, float) or float(show_value(value)) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("temperature", "-0.1"),
        ("temperature", "nan"),
        ("temperature", "inf"),
        ("temperature", ""),
        ("top_p", "1.1"),
        ("num_ctx", "0"),
        ("num_ctx", "8k"),
        ("max_tokens", "1.5"),
        ("seed", "9" * 30),
        ("seed", "9" * 5000),
        ("stop", '"'),
        ("response_format", "yaml"),
        ("keep_alive", "soon"),
    ],
)
def test_an_option_refuses_what_is_not_of_its_form(name: str, text: str) -> None:
    with pytest.raises(OptionRefused) as refused:
        change_option(GenerationOptions(), name, text)
    assert OPTION_FORMS[name].form in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("word", ["none", "None", "default", "reset"])
def test_a_word_for_nothing_clears_an_option(word: str) -> None:
    options, sentence = change_option(GenerationOptions(seed=1, top_k=2), "seed", word)
    assert options == GenerationOptions(top_k=2)
    assert sentence == "seed is reset to the model's default."


@pytest.mark.parametrize("name", sorted(OPTION_FORMS))
def test_the_example_of_every_option_is_taken(name: str) -> None:
    options, _ = change_option(GenerationOptions(), name, OPTION_FORMS[name].example)
    assert getattr(options, name) is not None


@given(st.sampled_from(sorted(OPTION_FORMS)), st.text(max_size=30))
def test_any_text_is_either_taken_or_refused(name: str, text: str) -> None:
    try:
        _, sentence = change_option(GenerationOptions(), name, text)
    except OptionRefused as refused:
        sentence = str(refused)
    assert "\x1b" not in sentence
    assert "\n" not in sentence
