"""The first note: which model, what was found, and what to do for more."""

from dataclasses import replace

from ollm_tui.frontend.welcome_note import welcome
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.first_model import START_SERVER
from tests.tui.scripted import FIRST

KEYS = {"chat.models": "Ctrl+L", "chat.manager": "F3"}
OTHER_KEYS = {"chat.models": "F4", "chat.manager": "F5"}


def by_alias(ref: ModelRef) -> str:
    return str(ref).replace("embedded", "built-in")


def test_a_model_used_before_needs_no_explanation() -> None:
    noted = welcome(FIRST, KEYS.__getitem__, str)
    assert noted == ("Chatting with qwen3:8b, used last.", None)


def test_the_starter_model_comes_with_the_way_to_better_ones() -> None:
    first = replace(
        FIRST,
        ref=ModelRef("embedded", "SmolLM2"),
        reason="the starter model",
        with_models=(),
        silent=("vLLM",),
    )
    text, hint = welcome(first, OTHER_KEYS.__getitem__, str)
    assert text == (
        "Chatting with SmolLM2, the starter model. No answer from: vLLM. "
        "`ollm doctor` lists the servers that were tried."
    )
    assert hint == f"{START_SERVER} Press F4 to choose another model, F5 for all models."


def test_a_servers_model_comes_with_the_key_for_the_others() -> None:
    text, hint = welcome(replace(FIRST, reason="already loaded", silent=()), KEYS.__getitem__, str)
    assert text == "Chatting with qwen3:8b, already loaded. Models found at: Ollama."
    assert hint == "Press Ctrl+L to choose another model, F3 for all models."


def test_no_model_says_who_was_asked_and_how_to_add_one() -> None:
    first = replace(FIRST, ref=None, reason="", with_models=(), silent=("Ollama", "vLLM"))
    text, hint = welcome(first, KEYS.__getitem__, str)
    assert text == (
        "No models found. No answer from: Ollama, vLLM. "
        "`ollm doctor` lists the servers that were tried."
    )
    assert hint == f"{first.advice} Then press Ctrl+L. /pull finds and downloads models."


def test_what_is_wrong_with_the_settings_is_not_reported_twice() -> None:
    first = replace(FIRST, ref=None, reason="The file cannot be read.", is_reported=True)
    assert welcome(first, OTHER_KEYS.__getitem__, str) == (
        "No model is selected until that is fixed.",
        "Or press F4 to choose one.",
    )


def test_the_model_used_last_is_named_where_a_host_was_named_that_counts_more() -> None:
    used = ModelRef("embedded", "SmolLM2")
    first = replace(FIRST, reason="already loaded", silent=(), passed_over=used)
    assert welcome(first, OTHER_KEYS.__getitem__, by_alias) == (
        "Chatting with qwen3:8b, already loaded. Models found at: Ollama.",
        "Press F4 to choose another model, such as built-in://SmolLM2, used last.",
    )
    none = replace(
        FIRST,
        ref=None,
        reason="Ollama does not answer.",
        with_models=(),
        problem=AIError(ErrorCode.SERVICE_UNAVAILABLE, "It is down.", hint="Start it."),
        passed_over=used,
    )
    text, hint = welcome(none, OTHER_KEYS.__getitem__, str)
    assert text == "Ollama does not answer."
    assert hint == (
        "Start it. Press F4 to choose another model, such as embedded://SmolLM2, used last."
    )
