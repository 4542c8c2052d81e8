"""llama.cpp's own server with those options of `llama-server` that tests give it.

Run as a file by a Python that has `xllamacpp`; it says where it listens, and serves until it is
killed or its parent is gone.
"""

import argparse
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
ERRORS_ONLY = 1


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("-m", "--model", required=True)
    options.add_argument("--alias", required=True)
    options.add_argument("--port", type=int, default=0)
    options.add_argument("-c", "--ctx-size", type=int, default=32768)
    options.add_argument("-np", "--parallel", type=int, default=4)
    given = options.parse_args()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Read by OpenMP and ggml when they are loaded.
    os.environ["OMP_WAIT_POLICY"], os.environ["GOMP_SPINCOUNT"] = "PASSIVE", "0"
    os.environ["GGML_NO_BACKTRACE"] = "1"
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = given.model, {given.alias}
    params.n_ctx, params.n_parallel = given.ctx_size, given.parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], given.port
    params.use_jinja, params.warmup, params.offline, params.ui = True, False, True, False
    params.verbosity = ERRORS_ONLY
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201
    signal.pause()


if __name__ == "__main__":
    main()
