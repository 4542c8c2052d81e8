"""Whether a model fits: the numbers, the verdict drawn from them, and the words for it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.library.fit import Fit, ModelShape, fit_short, fit_words
from ollm_tui.library.fitting import EntryFit, cache_of, fit_of, recommend
from ollm_tui.library.gguf_header import GGUFHeader
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.registry.known import load_curated
from ollm_tui.library.shapes import shape_of_header, shape_of_size

GB = 10**9
LLAMA_8B = ModelShape(
    weights=4_920_000_000,
    layers=32,
    kv_heads=8,
    key_length=128,
    value_length=128,
    embedding=4096,
)
RANK = ("no", "cpu", "partly", "gpu")


def machine(ram: float | None = 9.8, *cards: float, unified: bool = False) -> Machine:
    """Give one with so many GB free."""
    return Machine(
        ram_total=None if ram is None else 16 * GB,
        ram_free=None if ram is None else int(ram * GB),
        gpus=tuple(Gpu(name="card", total=24 * GB, free=int(free * GB)) for free in cards),
        unified=unified,
    )


def header(**facts: object) -> GGUFHeader:
    """Give that of an 8B model with some facts changed."""
    base = GGUFHeader(
        name="m",
        architecture="llama",
        quantization="Q4_K_M",
        context_trained=131_072,
        chat_template=None,
        tokenizer="gpt2",
        parameters=8_030_261_312,
        tensors=292,
        size_needed=4_920_000_000,
        shards=1,
        block_count=32,
        embedding_length=4096,
        head_count=32,
        head_count_kv=(8,),
    )
    return replace(base, **facts)  # type: ignore[arg-type]  # the tests name fields that exist


def test_the_cache_is_two_sides_of_every_layer_head_and_token() -> None:
    # Llama 3.1 8B at 8192 tokens: 1 GiB, as llama.cpp reports it.
    assert cache_of(shape_of_header(header(), 5 * GB), 8192) == 1024**3


@pytest.mark.parametrize(
    ("kv_type", "part"), [("f16", 1), ("q8_0", 34 / 64), ("q4_0", 18 / 64), ("f32", 2)]
)
def test_a_quantized_cache_is_smaller(kv_type: str, part: float) -> None:
    assert cache_of(LLAMA_8B, 8192, kv_type) == int(cache_of(LLAMA_8B, 8192) * part)


def test_lengths_that_are_named_win_over_those_worked_out() -> None:
    shape = shape_of_header(header(key_length=256, value_length=192), GB)
    assert (shape.key_length, shape.value_length) == (256, 192)


def test_layers_that_differ_count_with_their_mean() -> None:
    hybrid = (0, 0, 0, 8) * 8
    shape = shape_of_header(header(head_count_kv=hybrid), GB)
    assert shape.kv_heads == 2
    assert shape_of_header(header(full_attention_interval=4), GB).kv_heads == 2


def test_a_model_without_groups_has_as_many_key_heads_as_heads() -> None:
    assert shape_of_header(header(head_count_kv=()), GB).kv_heads == 32


def test_compressed_attention_keeps_one_row_and_no_values() -> None:
    latent = header(head_count_kv=(1,), key_length=576, value_length=512, key_length_mla=192)
    shape = shape_of_header(latent, GB)
    assert cache_of(shape, 1000) == 32 * 576 * 1000 * 2


@pytest.mark.parametrize(
    ("facts", "windowed"),
    [
        ({"full_every": 6}, 27),
        ({"full_every": 2}, 16),
        ({"full_every": None}, 0),
        ({"sliding_pattern": (4,)}, 24),
        ({"sliding_pattern": (1,)}, 0),
        ({"sliding_pattern": (0,)}, 32),
        ({"sliding_pattern": (1, 1, 1, 0)}, 24),
        ({"sliding_pattern": (1, 1, 0, 1) * 8}, 24),
    ],
)
def test_sliding_layers_keep_their_window(facts: dict[str, Any], windowed: int) -> None:
    of_file = {name: value for name, value in facts.items() if name != "full_every"}
    held = header(sliding_window=1024, **of_file)
    shape = shape_of_header(held, GB, facts.get("full_every"))
    assert shape.windowed == windowed
    row = 8 * 256
    # The window, the batch, and what rounding up to 256 adds, which is nothing here.
    assert cache_of(shape, 32_768) == 2 * row * ((32 - windowed) * 32_768 + windowed * 1536)


def test_what_a_header_leaves_out_is_guessed_and_marked() -> None:
    bare = header(block_count=None, head_count=None, head_count_kv=(), embedding_length=None)
    fit = fit_of(shape_of_header(bare, 5 * GB), machine(), context=8192)
    assert fit.is_estimate
    assert fit.cache > 0
    assert not fit_of(LLAMA_8B, machine(), context=8192).is_estimate


@pytest.mark.parametrize(
    ("given", "verdict", "words", "short"),
    [
        (machine(9.8, 8), "gpu", "fits GPU: 6.4 of 8.0 GB free", "GPU"),
        (machine(9.8, 4), "partly", "partly: 59 % on the GPU, 6.4 of 14 GB free", "59 % GPU"),
        (machine(9.8), "cpu", "CPU: 6.4 of 9.8 GB free", "CPU"),
        (machine(4), "no", "will not fit: needs 6.4 GB, 4.0 GB are free", "too big"),
        (machine(None), "unknown", "needs 6.4 GB; how much is free is not known", "?"),
        (machine(None, 8), "gpu", "fits GPU: 6.4 of 8.0 GB free", "GPU"),
        (machine(None, 4), "unknown", "needs 6.4 GB; how much is free is not known", "?"),
        (machine(9.8, 4, 4), "gpu", "fits GPU: 6.4 of 8.0 GB free", "GPU"),
        (machine(16, 10.6, unified=True), "gpu", "fits GPU: 6.4 of 11 GB free", "GPU"),
        (
            machine(6, 5, unified=True),
            "no",
            "will not fit: needs 6.4 GB, 6.0 GB are free",
            "too big",
        ),
    ],
)
def test_the_verdict_names_its_numbers(
    given: Machine, verdict: str, words: str, short: str
) -> None:
    fit = fit_of(LLAMA_8B, given, context=8192)
    assert (fit.verdict, fit_words(fit), fit_short(fit)) == (verdict, words, short)


def test_a_guess_says_about() -> None:
    fit = fit_of(shape_of_size(5 * GB), machine(9.8), context=4096)
    assert fit_words(fit).startswith("CPU: about ")


def test_a_driver_that_does_not_say_what_is_free_is_trusted_with_nine_tenths() -> None:
    assert Machine(gpus=(Gpu(name="card", total=10 * GB),)).gpu_free == 9 * GB


memory = st.none() | st.integers(0, 200 * GB)
machines = st.builds(
    Machine,
    ram_total=memory,
    ram_free=memory,
    gpus=st.lists(
        st.builds(Gpu, name=st.just("g"), total=st.integers(0, 96 * GB), free=memory), max_size=3
    ).map(tuple),
    unified=st.booleans(),
)
maybe = st.none() | st.integers(0, 300)
shapes = st.builds(
    ModelShape,
    weights=st.integers(0, 500 * GB),
    layers=maybe,
    kv_heads=maybe,
    key_length=maybe,
    value_length=maybe,
    window=maybe,
    windowed=st.integers(0, 300),
    embedding=st.none() | st.integers(1, 20_000),
)
contexts = st.integers(1, 2_000_000)


@given(shapes, machines, contexts, st.sampled_from(["f16", "q8_0", "q4_0", "no such type"]))
def test_the_verdict_agrees_with_its_numbers(
    shape: ModelShape, given: Machine, context: int, kv_type: str
) -> None:
    fit = fit_of(shape, given, context=context, kv_type=kv_type)
    assert 0 <= fit.gpu_share <= 1
    assert min(fit.weights, fit.cache, fit.overhead) >= 0
    assert "\n" not in fit_words(fit)
    assert len(fit_short(fit)) <= 9
    free, ram = given.gpu_free, given.ram_free
    match fit.verdict:
        case "gpu":
            assert fit.needed <= free
            assert fit.gpu_share == 1
        case "partly":
            assert fit.needed <= given.all_free
            assert 0 < fit.gpu_share <= 1
            assert fit.overhead + fit.gpu_share * (fit.weights + fit.cache) <= free + 1024
        case "cpu":
            assert ram is not None
            assert fit.needed <= ram
            assert fit.gpu_share == 0
        case "no":
            assert ram is not None
            assert fit.needed > ram
        case _:
            assert ram is None
            assert fit.needed > free


def rank(fit: Fit) -> int:
    return RANK.index(fit.verdict)


@given(shapes, machines, contexts, st.integers(0, 10**6))
def test_more_context_needs_more_and_fits_no_better(
    shape: ModelShape, given: Machine, context: int, more: int
) -> None:
    small = fit_of(shape, given, context=context)
    large = fit_of(shape, given, context=context + more)
    assert large.needed >= small.needed
    if "unknown" not in (small.verdict, large.verdict):
        assert rank(large) <= rank(small)


@given(shapes, machines, contexts, st.integers(0, 100 * GB))
def test_a_larger_file_of_the_same_shape_fits_no_better(
    shape: ModelShape, given: Machine, context: int, more: int
) -> None:
    whole = replace(shape, layers=8, kv_heads=8, key_length=64, value_length=64, embedding=512)
    small = fit_of(whole, given, context=context)
    large = fit_of(replace(whole, weights=whole.weights + more), given, context=context)
    assert large.needed >= small.needed
    if "unknown" not in (small.verdict, large.verdict):
        assert rank(large) <= rank(small)


@given(shapes, machines, contexts, st.integers(0, 100 * GB), st.booleans())
def test_more_memory_fits_no_worse(
    shape: ModelShape, given: Machine, context: int, more: int, is_card: bool
) -> None:
    if is_card:
        larger = replace(given, gpus=(*given.gpus, Gpu(name="g", total=more, free=more)))
    else:
        larger = replace(given, ram_free=None if given.ram_free is None else given.ram_free + more)
    before = fit_of(shape, given, context=context)
    after = fit_of(shape, larger, context=context)
    if before.verdict != "unknown":
        assert rank(after) >= rank(before)


OFFERED = [
    ("Q2_K", int(3.2 * GB)),
    ("Q3_K_M", int(4.0 * GB)),
    ("Q4_K_M", int(4.9 * GB)),
    ("Q5_K_M", int(5.7 * GB)),
    ("Q6_K", int(6.6 * GB)),
    ("Q8_0", int(8.5 * GB)),
    ("BF16", int(16.1 * GB)),
]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (machine(60, 24), "Q8_0"),
        (machine(60), "Q8_0"),
        (machine(60, 8), "Q5_K_M"),
        (machine(60, 7), "Q4_K_M"),
        (machine(60, 5), "Q8_0"),
        (machine(8.1), "Q5_K_M"),
        (machine(6.3), "Q3_K_M"),
        (machine(5.2), "Q2_K"),
        (machine(2), None),
        (machine(None), None),
    ],
)
def test_the_best_that_fits_in_the_best_place_is_recommended(
    given: Machine, taken: str | None
) -> None:
    place = recommend(OFFERED, given, context=4096, shape=LLAMA_8B)
    assert (None if place is None else OFFERED[place][0]) == taken


def test_full_width_is_recommended_only_where_nothing_smaller_is_offered() -> None:
    only = [("F32", 4 * GB), ("BF16", 2 * GB)]
    assert recommend(only, machine(60, 24), context=4096) == 1


def test_an_unknown_size_is_never_recommended() -> None:
    assert recommend([("Q4_K_M", None), ("Q4_0", 0)], machine(60), context=4096) is None


@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.integers(0, 100 * GB))), machines)
def test_what_is_recommended_fits(
    offered: list[tuple[str | None, int | None]], given: Machine
) -> None:
    place = recommend(offered, given, context=4096)
    if place is not None:
        size = offered[place][1]
        assert size
        assert fit_of(shape_of_size(size), given, context=4096).verdict in ("gpu", "partly", "cpu")


@pytest.mark.parametrize("name", ["Q4_0", "Q4_K_S", "IQ4_XS", "IQ4_NL", "MXFP4", "UD-Q4_K_XL"])
def test_any_of_four_bits_on_the_card_goes_before_more_beside_it(name: str) -> None:
    offered = [(name, int(4.4 * GB)), ("Q8_0", int(8.5 * GB))]
    assert recommend(offered, machine(60, 7), context=4096, shape=LLAMA_8B) == 0


@pytest.mark.parametrize("name", ["Q3_K_M", "Q3_K_L", "UD-Q3_K_XL", "IQ3_M", "TQ2_0", "odd", None])
def test_fewer_bits_on_the_card_do_not_whatever_their_mean(name: str | None) -> None:
    offered = [(name, int(4.4 * GB)), ("Q8_0", int(8.5 * GB))]
    assert recommend(offered, machine(60, 7), context=4096, shape=LLAMA_8B) == 1


@pytest.mark.parametrize(
    ("better", "other"),
    [("Q4_K_M", "Q4_1"), ("Q5_K_M", "Q5_0"), ("UD-Q4_K_XL", "Q4_K_XL"), ("Q6_K", "Q5_1"),
     ("Q8_K_XL", "Q8_0"), ("IQ4_XS", "Q3_K_L"), ("Q4_K_OF_A_FORK", "Q3_K_XL")],
)  # fmt: skip
def test_of_two_the_better_quality_is_recommended(better: str, other: str) -> None:
    for offered in ([(better, 4 * GB), (other, 4 * GB)], [(other, 4 * GB), (better, 4 * GB)]):
        place = recommend(offered, machine(60, 24), context=4096)
        assert place is not None
        assert offered[place][0] == better


@pytest.mark.parametrize(
    "family", ["bert", "nomic-bert", "jina-bert-v2", "whisper", "embeddinggemma", "gemma-embedding"]
)
def test_what_reads_all_at_once_keeps_no_cache(family: str) -> None:
    of_file = fit_of(shape_of_header(header(architecture=family), GB), machine(9.8), context=8192)
    of_size = fit_of(shape_of_size(GB, family=family), machine(9.8), context=8192)
    assert of_file.cache == of_size.cache == 0
    assert fit_of(shape_of_size(GB, family="qwen3"), machine(9.8), context=8192).cache > 0


def test_the_built_in_whisper_and_embedding_models_are_judged_without_a_cache() -> None:
    fits = EntryFit(machine(9.8))
    caches: dict[str, int] = {}
    for entry in load_curated().entries:
        best = fits.best_of(entry)
        if best is not None and best.fit is not None:
            caches[entry.id] = best.fit.cache
    assert {name for name, cache in caches.items() if not cache} == {
        "nomic-embed-text-v1.5", "bge-m3", "mxbai-embed-large-v1", "embeddinggemma-300m",
        "whisper-tiny", "whisper-base", "whisper-small", "whisper-large-v3",
        "whisper-large-v3-turbo",
    }  # fmt: skip
