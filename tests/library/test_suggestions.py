"""Which models are suggested first, with and without a graphics card."""

import pytest

from ollm_tui.library.fitting import MAX_ACTIVE_ON_CPU, EntryFit, SizeFit, is_slow, suggestion_key
from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import HubFacts, load_curated
from ollm_tui.library.registry.merge import active_parameters_in, hub_entry

GB = 10**9
BUILT_IN = load_curated().entries
NO_CARD = Machine(ram_total=64 * GB, ram_free=56 * GB)
LARGE_CARD = Machine(
    ram_total=64 * GB, ram_free=56 * GB, gpus=(Gpu(name="card", total=48 * GB, free=47 * GB),)
)


def suggested(purpose: str, machine: Machine) -> list[RegistryEntry]:
    """Give the built-in models for a purpose in the order in which they are suggested."""
    fits = EntryFit(machine)
    found = [(entry, fits.best_of(entry)) for entry in BUILT_IN if purpose in entry.purposes]
    found.sort(key=lambda one: suggestion_key(one[0], one[1], purpose))
    return [entry for entry, _ in found]


def at_work(entry: RegistryEntry) -> int:
    return entry.active_parameters or entry.parameters or 0


@pytest.mark.parametrize("purpose", ["chat", "code", "reasoning", "vision", "multilingual"])
def test_without_a_card_large_dense_models_come_after_all_that_answer_quickly(purpose: str) -> None:
    order = suggested(purpose, NO_CARD)
    fitting = [one for one in order if one.id != "gpt-oss-120b" and "70b" not in one.id]
    are_slow = [at_work(entry) > MAX_ACTIVE_ON_CPU for entry in fitting]
    assert any(are_slow)
    assert are_slow == sorted(are_slow)


def test_without_a_card_a_mixture_of_experts_counts_by_what_works_at_a_time() -> None:
    names = [entry.id for entry in suggested("chat", NO_CARD)]
    assert names[0] == "qwen3-30b-a3b-instruct-2507"
    assert names.index("qwen3-8b") < names.index("qwen3-32b")
    assert names.index("gpt-oss-20b") < names.index("qwen3-14b")


def test_with_a_card_that_holds_them_the_best_come_first() -> None:
    assert suggested("chat", LARGE_CARD)[0].id == "qwen3-32b"


@pytest.mark.parametrize(
    ("billions", "card_gb", "slow"),
    [(9.2, 0, False), (9.7, 0, True), (14.8, 6, False), (14.8, 2, True), (32.8, 6, True)],
)
def test_what_a_card_takes_over_does_not_count(billions: float, card_gb: int, slow: bool) -> None:
    cards = (Gpu(name="card", total=card_gb * GB, free=card_gb * GB),) if card_gb else ()
    machine = Machine(ram_total=64 * GB, ram_free=56 * GB, gpus=cards)
    entry = RegistryEntry(id="m", name="m", parameters=int(billions * GB))
    best = EntryFit(machine).best_of(entry)
    assert best is not None
    assert best.fit is not None
    assert best.fit.verdict == ("partly" if card_gb else "cpu")
    assert is_slow(entry, best) is slow


def test_nothing_unknown_is_called_slow() -> None:
    unknown = RegistryEntry(id="m", name="m")
    assert not is_slow(unknown, None)
    assert not is_slow(unknown, EntryFit(NO_CARD).best_of(unknown))
    assert not is_slow(unknown, SizeFit("Q4_K_M", GB, EntryFit(NO_CARD).of_size(GB, None)))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF", 3 * GB),
        ("qwen3:235b-a22b", 22 * GB),
        ("ERNIE-4.5-21B-A3B", 3 * GB),
        ("granite-7b-a1.5b", 1_500_000_000),
        ("llama-8b", None),
        ("qwen3-30b-a3bx", None),
        ("x-a0b", None),
    ],
)
def test_a_name_may_say_how_many_parameters_work_at_a_time(name: str, count: int | None) -> None:
    assert active_parameters_in(name) == count


def test_a_repository_says_it_by_its_name() -> None:
    facts = HubFacts(HubModel(repo="owner/Some-30B-A3B-GGUF"), 0.0)
    assert hub_entry(facts).active_parameters == 3 * GB
