"""The engine's process with embeddings switched on, as `llama-server --embeddings` has it.

Run as a file in place of the engine's own, which it runs: the server alone is given other settings.
"""

import os
import runpy
import sys
from pathlib import Path
from typing import Any

CHILD = Path(__file__).parents[2] / "ollm_tui" / "providers" / "embedded" / "child.py"
EMBEDDING_COMMAND = (sys.executable, "-P", __file__)


def main() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ["GGML_NO_BACKTRACE"] = "1"
    import xllamacpp

    serve = xllamacpp.Server

    def with_embeddings(params: Any) -> object:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        return serve(params)

    xllamacpp.Server = with_embeddings
    runpy.run_path(str(CHILD), run_name="__main__")


if __name__ == "__main__":
    main()
