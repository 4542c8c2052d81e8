"""Which quantization of a repository is downloaded: named, chosen, or the best for this machine."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio.to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output, size_text
from ollm_tui.library.address import HubAddress
from ollm_tui.library.downloads.job import HubFiles
from ollm_tui.library.entry_fit import EntryFit
from ollm_tui.library.fit import Fit, fit_short, fit_words
from ollm_tui.library.hub.repo import Hub, HubRepo, Variant
from ollm_tui.library.hub.variants import matching
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.errors import AIError, ErrorCode

_LONGEST = 20


FindMachine: TypeAlias = Callable[[], Awaitable[Machine]]


async def choose(
    address: HubAddress,
    arguments: Arguments,
    hub: Hub,
    find_machine: FindMachine,
    output: Output,
) -> HubFiles:
    """Return the files to download, of those that the hub lists.

    Raises:
        AIError: nothing of this name exists, or nothing fits this machine.
    """
    repo = await _repo(address, hub)
    wanted = arguments.models.quant or address.quantization
    variants = _usable(repo, address, wanted)
    variant = variants[0]
    if len(variants) > 1 or (wanted is None and address.path is None):
        variant = await _chosen(variants, repo, arguments, find_machine, output)
    if repo.model.licence is not None:
        output.note(f"{repo.model.repo} is under the licence {repo.model.licence}.")
    return HubFiles(
        repo=repo.model.repo,
        revision=repo.revision,
        name=variant.name,
        files=variant.files,
        licence=repo.model.licence,
        kind=variant.kind,
    )


async def _repo(address: HubAddress, hub: Hub) -> HubRepo:
    try:
        return await hub.repo(address.repo, revision=address.revision)
    except AIError as error:
        if error.code != ErrorCode.MODEL_NOT_FOUND:
            raise
        # Servers have models of such names too.
        hint = f"{error.hint or ''} A server's own is named with it: ollama://{address.repo}."
        raise AIError(error.code, error.message, hint=hint.strip()) from error


def _usable(repo: HubRepo, address: HubAddress, wanted: str | None) -> Sequence[Variant]:
    """Return the variants that match and can be downloaded.

    Raises:
        AIError: there is none that can be downloaded.
    """
    name = repo.model.repo
    if wanted is not None or address.path is not None:
        matches = matching(repo.variants, path=address.path, quantization=wanted)
    else:
        models = tuple(one for one in repo.variants if one.kind == "model")
        matches = models or tuple(one for one in repo.variants if one.kind != "projector")
    if not matches:
        there = ", ".join(dict.fromkeys(v.quantization or v.name for v in repo.variants))
        hint = f"Available: {there}." if there else "It contains no model files."
        what = f" {wanted or address.path}" if wanted or address.path else " to fetch"
        raise AIError(ErrorCode.MODEL_NOT_FOUND, f"{name} has nothing{what}.", hint=hint)
    usable = [one for one in matches if one.problem is None]
    if not usable:
        raise AIError(
            ErrorCode.MODEL_NOT_FOUND,
            f"{matches[0].name} of {name} cannot be downloaded: {matches[0].problem}.",
        )
    return usable


async def _chosen(
    variants: Sequence[Variant],
    repo: HubRepo,
    arguments: Arguments,
    find_machine: FindMachine,
    output: Output,
) -> Variant:
    fits, model = EntryFit(await find_machine()), repo.model
    sizes = [(one.quantization, one.size) for one in variants]
    best = fits.best(sizes, model.parameters, model.context, model.architecture)
    if len(variants) > 1 and _is_interactive(arguments, output):
        return await _prompt_for(variants, repo, fits, best, output)
    if best is None and len(variants) > 1:
        raise AIError(
            ErrorCode.OUT_OF_MEMORY,
            f"None of the {len(variants)} variants of {repo.model.repo} fits this machine.",
            hint="Use --quant NAME to take one anyway.",
        )
    variant = variants[best or 0]
    if len(variants) > 1:
        output.note(
            f"Using {_name(variant)} of {len(variants)}: {_words(_fit(variant, repo, fits))}. "
            "--quant NAME chooses another."
        )
    return variant


def _is_interactive(arguments: Arguments, output: Output) -> bool:
    is_here = output.is_watched and sys.stdin is not None and sys.stdin.isatty()
    return is_here and not arguments.yes and not arguments.as_json


async def _prompt_for(
    variants: Sequence[Variant], repo: HubRepo, fits: EntryFit, best: int | None, output: Output
) -> Variant:
    """Show a short list and take a number; Enter alone is the recommended one."""
    output.note(f"{repo.model.repo} has:")
    for number, variant in enumerate(variants[:_LONGEST], start=1):
        mark = "*" if number - 1 == best else " "
        size = size_text(variant.size) or "size unknown"
        judged = _fit(variant, repo, fits)
        fit = fit_short(judged) if judged else ""
        output.note(f"{mark} {number:>2}  {_name(variant):<12} {size:>9}  {fit}")
    usual = f", Enter takes {_name(variants[best])} (*)" if best is not None else ""
    while True:
        output.question(f"Which one? A number{usual}:")
        line = await anyio.to_thread.run_sync(_line, abandon_on_cancel=True)
        answer = line.strip()
        if line and not answer and best is not None:
            return variants[best]
        if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(variants):
            return variants[int(answer) - 1]
        if not answer:
            raise AIError(ErrorCode.ABORTED, "Nothing was chosen.")


def _line() -> str:
    return sys.stdin.readline(_LONGEST)


def _name(variant: Variant) -> str:
    return variant.quantization or variant.name


def _fit(variant: Variant, repo: HubRepo, fits: EntryFit) -> Fit | None:
    """Judge it as the screen does; None where its size is not known."""
    model = repo.model
    if not variant.size:
        return None
    return fits.of_size(variant.size, model.parameters, model.context, model.architecture)


def _words(fit: Fit | None) -> str:
    return fit_words(fit) if fit else "its size is not known"
