"""The log holds neither control characters nor secrets nor what exceptions say."""

import logging
from pathlib import Path

import pytest

from ollm_tui.cli.log import logging_to


def test_a_record_is_clean_and_tells_kinds_and_places_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-0123456789")
    path = tmp_path / "ollm.log"
    logger = logging.getLogger("ollm_tui.test")
    values = [f"{word}-value" for word in ("prompt", "key")]
    with logging_to(path):
        try:
            try:
                raise ValueError(values[0])
            except ValueError as error:
                raise KeyError(values[1]) from error
        except KeyError:
            logger.exception("folder \x1b[2J at %s", "canary-0123456789")
    written = path.read_text()
    assert not any(value in written for value in [*values, "canary"])
    assert "folder ␛[2J at «key»" in written
    assert "ValueError" in written
    assert "KeyError" in written
    assert __file__ in written
