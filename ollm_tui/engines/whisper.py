"""Hearing by whisper.cpp, in the package pywhispercpp."""

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from ollm_tui.engines.host import Instructions, Job, JobError, Result, serve
from ollm_tui.engines.sounds import RATE, samples_of
from ollm_tui.engines.speech import number_of

MIN_SAMPLES: Final = RATE + RATE // 10
"""Samples; the engine gives no text for less than a second, so silence is added."""
TICKS: Final = 100
"""Of its times, in a second."""
AUTO: Final = "auto"
MAGIC: Final = b"lmgg"
MAX_WORDS, MAX_DIMENSIONS, MAX_NAME_LENGTH = 1_000_000, 4, 256
BLOCKS: Final[Mapping[int, tuple[int, int]]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
}  # fmt: skip
"""Values in a block and its bytes, by the numbers of types in ggml."""


class Whisper:
    """Writes down what is said."""

    def __init__(self, model: Any, options: Mapping[str, Any]) -> None:
        self._model = model
        self._options = options

    def run(self, job: Job) -> Result:
        """Transcribe the sound of a job; each segment is a piece."""
        # Loaded with the model.
        import numpy as np

        samples = samples_of(job.data)
        duration = len(samples) / RATE
        if len(samples) < MIN_SAMPLES:
            samples = np.pad(samples, (0, MIN_SAMPLES - len(samples)))
        job.check()
        job.progress(0, int(duration * 1000))

        def report(segment: Any) -> None:
            start, end = segment.t0 / TICKS, min(segment.t1 / TICKS, duration)
            job.piece(start=min(start, end), end=end, text=segment.text)
            job.progress(int(end * 1000), int(duration * 1000))

        self._model.transcribe(
            np.ascontiguousarray(samples, dtype=np.float32),
            new_segment_callback=report,
            abort_callback=lambda: job.is_cancelled,
            **self._parameters(job),
        )
        job.check()
        return Result({"language": self._heard(), "duration_s": round(duration, 3)})

    def _parameters(self, job: Job) -> dict[str, Any]:
        given = {**self._options, **job.fields}
        prompt = given.get("prompt")
        return {
            "language": self._language(given.get("language")),
            "translate": given.get("translate") is True,
            "temperature": number_of(given, "temperature", 0.0, 0.0, 1.0),
            "initial_prompt": prompt if isinstance(prompt, str) else "",
        }

    def _language(self, wanted: Any) -> str:
        """Return the language to expect; a model for English knows no other."""
        is_english = not self._is_multilingual()
        if wanted in (None, "", AUTO):
            return "en" if is_english else AUTO
        known = self._model.available_languages()
        if wanted not in known or (is_english and wanted != "en"):
            raise JobError(
                f"This model does not know the language {str(wanted)[:40]}.",
                "It knows English only."
                if is_english
                else "Name it by its code, such as en or de, or leave it out.",
                code="BAD_REQUEST",
            )
        return str(wanted)

    def _is_multilingual(self) -> bool:
        # The package's own class has no word for it.
        import _pywhispercpp

        return bool(_pywhispercpp.whisper_is_multilingual(self._model._ctx))

    def _heard(self) -> str | None:
        # As in `_is_multilingual`.
        import _pywhispercpp

        number = _pywhispercpp.whisper_full_lang_id(self._model._ctx)
        return _pywhispercpp.whisper_lang_str(number) if number >= 0 else None


def check_file(path: Path) -> None:
    """Check that a model file is whole, which the engine itself does not notice.

    Raises:
        ValueError: it is cut short, or no model.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        magic, words, contexts, *_ = _unpacked(file, "<4s11i")
        if magic != MAGIC or min(words, contexts) <= 0:
            raise ValueError("it is no model of whisper.cpp")
        bins, width = _unpacked(file, "<2i")
        file.seek(4 * bins * width, os.SEEK_CUR)
        (count,) = _unpacked(file, "<i")
        for _ in range(min(count, MAX_WORDS)):
            file.seek(_unpacked(file, "<I")[0], os.SEEK_CUR)
        while file.tell() < size:
            _skip_tensor(file)
        if file.tell() > size:
            raise ValueError("it is cut short")


def _skip_tensor(file: BinaryIO) -> None:
    dimensions, length, kind = _unpacked(file, "<3i")
    if not 0 < dimensions <= MAX_DIMENSIONS or not 0 < length <= MAX_NAME_LENGTH:
        raise ValueError("it is broken")
    values = math.prod(_unpacked(file, f"<{dimensions}i"))
    if kind not in BLOCKS or values <= 0:
        raise ValueError(f"it has values of the unknown type {kind}")
    block, width = BLOCKS[kind]
    file.seek(length + values // block * width, os.SEEK_CUR)


def _unpacked(file: BinaryIO, form: str) -> tuple[Any, ...]:
    data = file.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise ValueError("it is cut short")
    return struct.unpack(form, data)


def load(instructions: Instructions) -> Whisper:
    """Load a model.

    Raises:
        ValueError: the file cannot be used.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ["GGML_NO_BACKTRACE"] = "1"  # a crash starts no debugger
    # Imported here because the library reads these variables when it is loaded.
    from pywhispercpp.model import Model

    check_file(Path(instructions.model))  # for one that is not there, the package downloads one
    half = max(1, (os.cpu_count() or 2) // 2)
    threads = int(number_of(instructions.options, "threads", half, 1, 64))
    model: Any = Model(
        instructions.model,
        redirect_whispercpp_logs_to=False,
        n_threads=threads,
        print_progress=False,
        print_realtime=False,
    )
    if model._ctx is None:
        raise ValueError("it is no usable model of whisper.cpp")
    return Whisper(model, instructions.options)


if __name__ == "__main__":
    serve(load)
