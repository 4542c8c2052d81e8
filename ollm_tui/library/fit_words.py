"""Whether a model fits, in words for a person."""

from ollm_tui.library.fit import Fit
from ollm_tui.library.memory_need import all_free, gpu_free


def fit_words(fit: Fit) -> str:
    """Give the verdict with its numbers, as one line without an end; `about` marks a guess."""
    about = "about " if fit.is_estimate else ""
    needed = f"{about}{_gb(fit.needed)}"
    match fit.verdict:
        case "gpu":
            return f"fits GPU: {needed} of {_gb(gpu_free(fit.machine))} GB free"
        case "partly":
            free = _gb(all_free(fit.machine))
            return f"partly: {_share(fit)} on the GPU, {needed} of {free} GB free"
        case "cpu":
            return f"CPU: {needed} of {_gb(fit.machine.ram_free or 0)} GB free"
        case "no":
            return f"will not fit: needs {needed} GB, {_gb(all_free(fit.machine))} GB are free"
        case _:
            return f"needs {needed} GB; how much is free is not known"


def fit_short(fit: Fit) -> str:
    """Give the verdict for a column: `GPU`, `61 % GPU`, `CPU`, `too big`, `?`."""
    match fit.verdict:
        case "gpu":
            return "GPU"
        case "partly":
            return f"{_share(fit)} GPU"
        case "cpu":
            return "CPU"
        case "no":
            return "too big"
        case _:
            return "?"


def _share(fit: Fit) -> str:
    return f"{int(fit.gpu_share * 100)} %"


def _gb(count: float) -> str:
    size = count / 1e9
    return f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
