"""The engine's own process: llama.cpp's server for one model, on loopback, behind a random key.

The server is that of the package `xllamacpp`, or a `llama-server` in a process below this one.
Run as a file, never imported: it needs the standard library, `ollm_tui.engines` and `xllamacpp`,
nothing else.
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn, TypedDict

from ollm_tui.engines.host import die_with, keep_report_apart

if TYPE_CHECKING:
    import xllamacpp

NO_GPU = "no_gpu"
ERRORS_ONLY = 1
"""llama.cpp's log level; the reason for a failed load is only in its log."""

SPINS = "300"
"""How often a thread looks for the others before it sleeps: about as long as waking it takes."""
HEALTH_S, POLL_S = 2.0, 0.05
STARTS = 2
"""How often llama-server is started when another program takes its port."""


class Options(TypedDict, total=False):
    """How the model is loaded; what is missing is the engine's default."""

    threads: int
    threads_batch: int
    gpu_layers: int
    cache_type_k: str
    cache_type_v: str
    flash_attention: bool
    projector: str
    lora: list[str]
    draft_model: str
    draft_tokens: int


class Settings(TypedDict):
    """The parent's instructions: one line of JSON on standard input."""

    parent: int
    model: str
    name: str
    key: str
    context: int
    embeddings: bool
    prompt_cache_mb: int
    states: str | None
    options: Options
    template: str | None
    program: str | None
    arguments: list[str]
    variables: dict[str, str]


def main() -> None:
    """Load the model, report the address, and serve until the input closes."""
    report = keep_report_apart()
    settings: Settings = json.loads(sys.stdin.readline())
    die_with(settings["parent"])
    os.umask(0o077)  # files with what it has read are for their owner alone
    if settings["program"] is not None:
        _run_program(report, settings["program"], settings)
    try:
        server = _serve(settings)
    except (ImportError, RuntimeError, OSError) as error:
        _say(report, {"error": str(error), "missing": isinstance(error, ImportError)})
        sys.exit(1)  # the engine writes the rest of its log, which has the reason, at the exit
    _say(report, {"url": server.listening_address})
    sys.stdin.read()
    os._exit(0)  # the engine's threads are not waited for


def _run_program(report: int, program: str, settings: Settings) -> NoReturn:
    """Run llama-server, report its address once it is ready, and end with it.

    A port that another program took first is exchanged for another one, once.
    """
    started: list[subprocess.Popen[bytes]] = []
    closed = threading.Event()
    threading.Thread(target=_end_with_input, args=(started, closed), daemon=True).start()
    while True:
        port = _free_port()
        try:
            process = _started(program, settings, port)
        except OSError as error:
            _say(report, {"error": f"{program} cannot be started: {error.strerror or error}"})
            os._exit(1)  # the thread that reads the input is not waited for
        started.append(process)
        if closed.is_set():
            process.kill()
        log = threading.Thread(target=_follow, args=(process,), daemon=True)
        log.start()
        problem = _wait_until_ready(process, port, settings["key"])
        if problem is None:
            break
        process.kill()
        process.wait()
        log.join(HEALTH_S)
        if len(started) == STARTS or closed.is_set() or not _is_taken(port):
            _say(report, {"error": f"{program} {problem}"})
            os._exit(1)
    _say(report, {"url": f"http://127.0.0.1:{port}"})
    ending = process.wait()
    if ending < 0:
        os.kill(os.getpid(), -ending)  # end in the same way
    os._exit(ending)


def _started(program: str, settings: Settings, port: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [program, *settings["arguments"], "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_environment(settings),
        preexec_fn=None if sys.platform == "win32" else partial(die_with, os.getpid()),
    )


def _environment(settings: Settings) -> dict[str, str]:
    """Return the environment of llama-server, whose options are only those of the settings."""
    kept = {n: text for n, text in os.environ.items() if not n.startswith("LLAMA_ARG_")}
    return kept | settings["variables"] | {"LLAMA_API_KEY": settings["key"]}


def _follow(process: "subprocess.Popen[bytes]") -> None:
    """Pass the output on to the log; nothing is read from it, since it quotes the model file."""
    assert process.stdout is not None
    for line in process.stdout:
        with contextlib.suppress(BlockingIOError):  # a full log drops lines
            os.write(2, line)


def _end_with_input(started: "list[subprocess.Popen[bytes]]", closed: threading.Event) -> None:
    """Kill llama-server when the parent closes the input, or is gone.

    This process ends after it, so that its memory is free when the parent is told.
    """
    sys.stdin.read()
    closed.set()
    for process in [*started]:
        process.kill()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _is_taken(port: int) -> bool:
    """Return whether another program listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), HEALTH_S).close()
    except OSError:
        return False
    return True


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, key: str) -> str | None:
    """Wait until the model is loaded; return why that will not be, or None.

    Only a server that refuses those without the key, and serves us with it, is believed.
    """
    while process.poll() is None:
        without_key = _status(port)
        if without_key == http.client.OK:
            return "was not reached: another program answers at its port"
        with_key = _status(port, key) if without_key == http.client.UNAUTHORIZED else None
        if with_key == http.client.UNAUTHORIZED:
            return "was not reached: another program answers at its port"
        if with_key == http.client.OK and process.poll() is None:
            return None
        time.sleep(POLL_S)
    return "ended"


def _status(port: int, key: str | None = None) -> int | None:
    """Return the status of what only holders of the key are told; None without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH_S)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        connection.request("GET", "/props", headers=headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _say(descriptor: int, line: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent no longer wants the model
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)


def _serve(settings: Settings) -> "xllamacpp.Server":
    """Start the server with everything switched off that a local chat does not need."""
    # Threads that spin for long make each other wait on shared cores, and those that sleep at once
    # are woken some hundred times a token. OpenMP reads these when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    os.environ["GGML_NO_BACKTRACE"] = "1"  # a crash starts no debugger
    # Imported here because the library reads these variables when it is loaded.
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.n_ctx, params.n_parallel = settings["context"], 1
    params.cache_ram_mib = settings["prompt_cache_mb"]
    params.slot_save_path = settings["states"] or ""
    if settings["embeddings"]:
        params.embedding = True
        params.n_batch = params.n_ubatch = settings["context"]  # a text must fit into one batch
    _apply(xllamacpp, params, settings["options"])
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys, params.cors_origins, params.ui = [settings["key"]], "", False
    params.chat_template = settings["template"] or ""
    params.use_jinja, params.warmup, params.offline = True, False, True
    params.verbosity = ERRORS_ONLY
    return xllamacpp.Server(params)


def _apply(engine: ModuleType, params: "xllamacpp.CommonParams", options: Options) -> None:
    """Set the options.

    Raises:
        RuntimeError: layers are to go to a graphics card that this build cannot use.
    """
    threads, threads_batch = options["threads"], options["threads_batch"]
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads_batch
    if "gpu_layers" in options:
        if options["gpu_layers"] and not _has_gpu(engine):
            raise RuntimeError(NO_GPU)
        params.n_gpu_layers = options["gpu_layers"]
    if "cache_type_k" in options:
        params.cache_type_k = _cache_type(engine, options["cache_type_k"])
    if "cache_type_v" in options:
        params.cache_type_v = _cache_type(engine, options["cache_type_v"])
    if "flash_attention" in options:
        kinds = engine.llama_flash_attn_type
        params.flash_attn_type = (
            kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED
            if options["flash_attention"]
            else kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
    params.mmproj.path = options.get("projector", "")
    params.lora_adapters = [
        engine.CommonAdapterLoraInfo(path, 1.0) for path in options.get("lora", [])
    ]
    if "draft_model" in options:
        draft = params.speculative.draft
        params.speculative.types = [
            engine.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE
        ]
        draft.mparams.path = options["draft_model"]
        draft.cpuparams.n_threads = threads
        draft.cpuparams_batch.n_threads = threads_batch
        draft.n_max = options.get("draft_tokens", draft.n_max)


def _has_gpu(engine: ModuleType) -> bool:
    return any(device["type"].name.endswith("GPU") for device in engine.get_device_info())


def _cache_type(engine: ModuleType, name: str) -> "xllamacpp.ggml_type":
    kind: xllamacpp.ggml_type = getattr(engine.ggml_type, f"GGML_TYPE_{name.upper()}")
    return kind


if __name__ == "__main__":
    main()
