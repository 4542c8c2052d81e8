"""A graphics card that the engine cannot use is named where fit is judged."""

from ollm_tui.frontend.model_sections import fit_facts
from ollm_tui.library.fit import ModelShape
from ollm_tui.library.fitting import fit_of
from ollm_tui.library.machine import Gpu, Machine

GB = 10**9
CARD = Gpu(name="GeForce", total=8 * GB, free=7 * GB)


def lines(machine: Machine) -> list[str]:
    fit = fit_of(ModelShape(weights=GB), machine.for_engine, context=4096)
    return [f"{fact.name} {fact.value} {fact.note}".strip() for fact in fit_facts(fit)]


def test_a_card_that_is_not_used_is_named_with_the_ways_to_use_it() -> None:
    machine = Machine(ram_free=16 * GB, gpus=(CARD,), engine_uses_gpus=False)
    shown = lines(machine)
    assert shown[0].startswith("verdict CPU")
    (card,) = [line for line in shown if "GeForce" in line]
    assert card == "GPU GeForce, not used " + (
        "the installed engine was built without support for graphics cards"
    )
    (ways,) = [line for line in shown if "to use it" in line]
    assert "llama-server" in ways
    assert "Ollama" in ways


def test_a_card_that_is_used_is_named_once() -> None:
    machine = Machine(ram_free=16 * GB, gpus=(CARD,))
    verdict, card = (line for line in lines(machine) if "GPU" in line)
    assert verdict.startswith("verdict fits GPU")
    assert card == "GPU GeForce, 8.0 GB 7.0 GB free"
