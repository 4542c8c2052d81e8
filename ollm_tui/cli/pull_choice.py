"""Which quantization of a repository is fetched: the one named, chosen, or the best here."""

import sys
from collections.abc import Sequence

import anyio.to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.output import Output
from ollm_tui.library.address import HubAddress
from ollm_tui.library.downloads.job import HubFiles
from ollm_tui.library.entry_fit import EntryFit
from ollm_tui.library.fit import Fit, fit_short, fit_words
from ollm_tui.library.hub.repo import HubRepo, Variant
from ollm_tui.library.hub.variants import matching
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.runtime.compose import Runtime

_LONGEST = 20


async def choose(
    address: HubAddress, arguments: Arguments, runtime: Runtime, output: Output
) -> HubFiles:
    """Ask the hub what there is, and give what is to be fetched.

    Raises:
        AIError: there is nothing of this name, or nothing that fits here.
    """
    repo = await _repo(address, runtime)
    wanted = arguments.models.quant or address.quantization
    found = _usable(repo, address, wanted)
    variant = found[0]
    if len(found) > 1 or (wanted is None and address.path is None):
        variant = await _chosen(found, repo, arguments, runtime, output)
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


async def _repo(address: HubAddress, runtime: Runtime) -> HubRepo:
    try:
        return await runtime.hub.repo(address.repo, revision=address.revision)
    except AIError as error:
        if error.code != ErrorCode.MODEL_NOT_FOUND:
            raise
        # Servers have models of such names too.
        hint = f"{error.hint or ''} A server's own is named with it: ollama://{address.repo}."
        raise AIError(error.code, error.message, hint=hint.strip()) from error


def _usable(repo: HubRepo, address: HubAddress, wanted: str | None) -> Sequence[Variant]:
    """Give what can be fetched of what is meant.

    Raises:
        AIError: there is none, or what is meant cannot be downloaded.
    """
    name = repo.model.repo
    if wanted is not None or address.path is not None:
        found = matching(repo.variants, path=address.path, quantization=wanted)
    else:
        models = tuple(one for one in repo.variants if one.kind == "model")
        found = models or tuple(one for one in repo.variants if one.kind != "projector")
    if not found:
        there = ", ".join(dict.fromkeys(v.quantization or v.name for v in repo.variants))
        hint = f"Available: {there}." if there else "It contains no model files."
        what = f" {wanted or address.path}" if wanted or address.path else " to fetch"
        raise AIError(ErrorCode.MODEL_NOT_FOUND, f"{name} has nothing{what}.", hint=hint)
    usable = [one for one in found if one.problem is None]
    if not usable:
        raise AIError(
            ErrorCode.MODEL_NOT_FOUND,
            f"{found[0].name} of {name} cannot be downloaded: {found[0].problem}.",
        )
    return usable


async def _chosen(
    found: Sequence[Variant],
    repo: HubRepo,
    arguments: Arguments,
    runtime: Runtime,
    output: Output,
) -> Variant:
    fits, model = EntryFit(await runtime.machine()), repo.model
    sizes = [(one.quantization, one.size) for one in found]
    best = fits.best(sizes, model.parameters, model.context, model.architecture)
    if len(found) > 1 and _is_asked(arguments, output):
        return await _asked(found, repo, fits, best, output)
    if best is None and len(found) > 1:
        raise AIError(
            ErrorCode.OUT_OF_MEMORY,
            f"None of the {len(found)} variants of {repo.model.repo} fits this machine.",
            hint="Use --quant NAME to take one anyway.",
        )
    variant = found[best or 0]
    if len(found) > 1:
        output.note(
            f"Using {_name(variant)} of {len(found)}: {_words(_fit(variant, repo, fits))}. "
            "--quant NAME chooses another."
        )
    return variant


def _is_asked(arguments: Arguments, output: Output) -> bool:
    is_here = output.is_watched and sys.stdin is not None and sys.stdin.isatty()
    return is_here and not arguments.yes and not arguments.as_json


async def _asked(
    found: Sequence[Variant], repo: HubRepo, fits: EntryFit, best: int | None, output: Output
) -> Variant:
    """Show a short list and take a number; Enter alone is the recommended one."""
    output.note(f"{repo.model.repo} has:")
    for number, variant in enumerate(found[:_LONGEST], start=1):
        mark = "*" if number - 1 == best else " "
        size = size_text(variant.size) or "size unknown"
        judged = _fit(variant, repo, fits)
        fit = fit_short(judged) if judged else ""
        output.note(f"{mark} {number:>2}  {_name(variant):<12} {size:>9}  {fit}")
    usual = f", Enter takes {_name(found[best])} (*)" if best is not None else ""
    while True:
        output.question(f"Which one? A number{usual}:")
        line = await anyio.to_thread.run_sync(_line, abandon_on_cancel=True)
        answer = line.strip()
        if line and not answer and best is not None:
            return found[best]
        if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(found):
            return found[int(answer) - 1]
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
