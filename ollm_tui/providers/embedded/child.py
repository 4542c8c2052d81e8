"""The engine's own process: llama.cpp's server for one model, on loopback, behind a random key.

Run as a file, never imported: it needs the standard library and `xllamacpp`, nothing else.
"""

import ctypes
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import xllamacpp

PR_SET_PDEATHSIG = 1
ERRORS_ONLY = 1
"""llama.cpp's log level; the reason for a failed load is only in its log."""


class Settings(TypedDict):
    """The parent's instructions: one line of JSON on standard input."""

    parent: int
    model: str
    name: str
    key: str
    context: int
    threads: int


def main() -> None:
    """Load the model, report the address, and serve until the input closes."""
    report = _keep_the_report_apart()
    settings: Settings = json.loads(sys.stdin.readline())
    _die_with(settings["parent"])
    try:
        server = _serve(settings)
    except (ImportError, RuntimeError, OSError) as error:
        _say(report, {"error": str(error), "missing": isinstance(error, ImportError)})
        sys.exit(1)  # the engine writes the rest of its log, which has the reason, at the exit
    _say(report, {"url": server.listening_address})
    sys.stdin.read()
    os._exit(0)  # the engine's threads are not waited for


def _keep_the_report_apart() -> int:
    """Give the report its own descriptor, so that the engine's output goes to the log."""
    report = os.dup(1)
    os.dup2(2, 1)
    return report


def _die_with(parent: int) -> None:
    """End with the parent, even during a load, when no Python code can run."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _say(descriptor: int, line: dict[str, object]) -> None:
    os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)


def _serve(settings: Settings) -> "xllamacpp.Server":
    """Start the server with everything switched off that a local chat does not need."""
    # Spinning barriers halve the speed on shared cores; OpenMP reads these when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ["GGML_NO_BACKTRACE"] = "1"  # a crash starts no debugger
    # Imported here because the library reads these variables when it is loaded.
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.n_ctx, params.n_parallel = settings["context"], 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys, params.cors_origins, params.ui = [settings["key"]], "", False
    params.use_jinja, params.warmup, params.offline = True, False, True
    params.verbosity = ERRORS_ONLY
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
