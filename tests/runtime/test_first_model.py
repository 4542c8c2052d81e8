"""What a person chats with who has not chosen a model."""

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef, from_alias
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.first_model import choose_first

STARTER = ModelRef("embedded", "starter")


def listing(provider: str, *models: ModelInfo, problem: AIError | None = None) -> Listing:
    return Listing(provider=provider, label=provider.title(), models=models, problem=problem)


BIG = ModelInfo(name="big", size_bytes=40_000, loaded=False)
SMALL = ModelInfo(name="small", size_bytes=1_000, loaded=False)
LOADED = ModelInfo(name="loaded", size_bytes=9_000, loaded=True)
EMBEDDING = ModelInfo(name="embed", size_bytes=1, capability=from_alias("embedding"))
FILE = ModelInfo(name="starter", size_bytes=500)


def test_the_model_used_last_comes_first() -> None:
    first = choose_first(
        [listing("local", BIG, LOADED), listing("embedded", FILE)],
        last="local://big",
        starter=STARTER,
    )
    assert (first.ref, first.reason) == (ModelRef("local", "big"), "used last")


def test_a_last_model_that_is_gone_does_not_count() -> None:
    first = choose_first([listing("local", SMALL)], last="local://gone", starter=None)
    assert first.ref == ModelRef("local", "small")


def test_the_starter_model_comes_before_what_servers_have() -> None:
    first = choose_first(
        [listing("local", LOADED), listing("embedded", FILE)], last=None, starter=STARTER
    )
    assert first.ref == STARTER


def test_a_loaded_model_comes_before_a_smaller_one() -> None:
    first = choose_first([listing("local", SMALL, LOADED)], last=None, starter=STARTER)
    assert (first.ref, first.reason) == (ModelRef("local", "loaded"), "already loaded")


def test_else_the_smallest_that_can_chat() -> None:
    unknown = ModelInfo(name="unknown-size")
    first = choose_first(
        [listing("local", unknown, EMBEDDING, BIG, SMALL)], last=None, starter=None
    )
    assert first.ref == ModelRef("local", "small")
    assert first.reason == "the smallest of known size"


def test_it_is_called_the_smallest_only_where_all_sizes_are_known() -> None:
    a, b = ModelInfo(name="a"), ModelInfo(name="b")
    for models, name, reason in (
        ([BIG, SMALL], "small", "the smallest one found"),
        ([a, b], "a", "the first one found"),
        ([a], "a", "the only one found"),
    ):
        first = choose_first([listing("local", *models)], last=None, starter=None)
        assert (first.ref, first.reason) == (ModelRef("local", name), reason)


def test_an_unusable_file_is_never_chosen() -> None:
    broken = ModelInfo(name="broken", size_bytes=1, details={"problem": "not a GGUF file"})
    assert choose_first([listing("embedded", broken)], last=None, starter=None).ref is None


def test_a_provider_that_has_only_voices_has_no_model_to_chat_with() -> None:
    voice = ModelInfo(name="espeak-ng", capability=from_alias("tts"))
    first = choose_first([listing("embedded", voice)], last=None, starter=None)
    assert (first.ref, first.with_models) == (None, ())


def test_a_server_that_should_answer_is_named_and_one_that_is_not_set_up_is_not() -> None:
    refused = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Nobody there.")
    absent = Listing(provider="lmstudio", label="LM Studio", absent=True)
    first = choose_first([listing("local", problem=refused), absent], last=None, starter=None)
    assert first.ref is None
    assert first.silent == ("Local",)
    assert first.with_models == ()


def test_advice_fits_what_is_there() -> None:
    def advice(*listings: Listing, engine_installed: bool = True) -> str | None:
        return choose_first(
            listings, last=None, starter=None, engine_installed=engine_installed
        ).advice

    assert advice(listing("local", SMALL)) is None
    embedded = advice(listing("embedded", FILE))
    assert embedded is not None
    assert embedded.startswith("For better models")
    nothing = advice()
    assert nothing is not None
    assert nothing.startswith("`ollm models starter`")
    no_engine = advice(engine_installed=False)
    assert no_engine is not None
    assert "pip install xllamacpp" in no_engine


def test_who_was_silent_is_named_with_the_port() -> None:
    refused = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Nobody there.")
    first = choose_first(
        [listing("local", problem=refused)], last=None, starter=None, ports={"local": 11434}
    )
    assert first.silent == ("Local (11434)",)
