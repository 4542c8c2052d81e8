"""Which quantization the command line takes: the one that the screen marks, with its numbers."""

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output
from ollm_tui.cli.pull import choose
from ollm_tui.config.flags import Flags
from ollm_tui.library.address import HubAddress
from ollm_tui.library.downloads.job import HubFiles
from ollm_tui.library.fit import fit_words
from ollm_tui.library.fitting import EntryFit
from ollm_tui.library.hub.repo import HubFile, HubModel, HubRepo
from ollm_tui.library.hub.variants import variants_of
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.errors import AIError

if TYPE_CHECKING:
    from ollm_tui.library.hub.repo import Hub

GB = 10**9
SIZES = {"Q4_K_M": 2_500_000_000, "Q6_K": 3_600_000_000, "Q8_0": 4_300_000_000}


class Terminal(io.StringIO):
    """Somebody who sits there and has typed this."""

    def isatty(self) -> bool:
        return True


def repo_of(model: HubModel) -> HubRepo:
    files = [HubFile(path=f"m-{name}.gguf", size=size) for name, size in SIZES.items()]
    return HubRepo(model=model, revision="1" * 40, variants=variants_of(files))


async def chosen(repo: HubRepo, machine: Machine, output_stream: io.StringIO) -> HubFiles:
    async def listed(*_asked: object, **_more: object) -> HubRepo:
        return repo

    async def look() -> Machine:
        return machine

    hub = cast("Hub", SimpleNamespace(repo=listed))
    address = HubAddress(repo=repo.model.repo)
    return await choose(
        address, Arguments(flags=Flags()), hub, look, Output(output_stream, output_stream)
    )


async def test_an_image_encoder_comes_with_its_model() -> None:
    files = [HubFile(path="m-Q4_K_M.gguf", size=GB), HubFile(path="mmproj-F32.gguf", size=9)]
    files += [HubFile(path="mmproj-F16.gguf", size=5 * 10**6)]
    repo = HubRepo(model=HubModel(repo="o/n"), revision="1" * 40, variants=variants_of(files))
    output = io.StringIO()
    origin = await chosen(repo, Machine(ram_free=32 * GB), output)
    assert [file.path for file in origin.files] == ["m-Q4_K_M.gguf", "mmproj-F16.gguf"]
    assert "With its image encoder mmproj-F16, 5 MB." in output.getvalue()


@pytest.mark.parametrize(
    ("typed", "taken"), [("\n", "m-Q8_0"), ("3\n", "m-Q4_K_M"), ("x\n\n", "m-Q8_0"), ("", None)]
)
async def test_enter_takes_the_recommended_one_and_the_end_of_the_input_none(
    monkeypatch: pytest.MonkeyPatch, typed: str, taken: str | None
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    repo, machine = repo_of(HubModel(repo="o/n", parameters=4 * GB)), Machine(ram_free=32 * GB)
    if taken is None:
        with pytest.raises(AIError, match="Nothing was chosen"):
            await chosen(repo, machine, Terminal())
    else:
        assert (await chosen(repo, machine, Terminal())).name == taken


@pytest.mark.parametrize("free_gb", [4.8, 5.4, 6.2, 7.0])
@pytest.mark.parametrize("architecture", ["qwen3", "nomic-bert"])
async def test_it_is_the_one_that_the_screen_marks(free_gb: float, architecture: str) -> None:
    machine = Machine(ram_free=int(free_gb * GB))
    model = HubModel(
        repo="o/n", parameters=4_000_000_000, context=32_768, architecture=architecture
    )
    repo = repo_of(model)
    output_stream = io.StringIO()
    origin = await chosen(repo, machine, output_stream)
    fits = EntryFit(machine)
    sizes = [(one.quantization, one.size) for one in repo.variants]
    place = fits.best(sizes, model.parameters, model.context, architecture)
    assert place is not None
    marked = repo.variants[place]
    fit = fits.of_size(marked.size or 0, model.parameters, model.context, architecture)
    assert fit is not None
    assert origin.name == marked.name
    assert fit_words(fit) in output_stream.getvalue()
