"""Whether a model fits is added to its details, unless that takes too long."""

from pathlib import Path
from threading import Event

import pytest

from ollm_tui.library.gguf_header import GGUFHeader
from ollm_tui.library.machine import Machine
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.runtime import model_fit
from ollm_tui.runtime.details import ModelDetails
from ollm_tui.runtime.model_fit import with_fit


async def machine() -> Machine:
    return Machine()


async def test_a_header_on_a_disk_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = Event()

    def read(_path: Path) -> GGUFHeader:
        hangs.wait(2)
        raise OSError

    monkeypatch.setattr(model_fit, "read_header", read)
    monkeypatch.setattr(model_fit, "TIMEOUT_S", 0.05)
    info = ModelInfo(name="m", size_bytes=1000)
    details = ModelDetails(ref=ModelRef("embedded", "m"), info=info, place="", path="/slow/m.gguf")
    try:
        known_models = KnownModels(tmp_path)
        shown = await with_fit(details, machine, known_models=known_models, owns_path=True)
        assert not hangs.is_set()
    finally:
        hangs.set()
    assert shown.fit is None
