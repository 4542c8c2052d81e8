"""SVG snapshots of a Textual app, on syrupy: one `.svg` file a picture, beside the test."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.types import SerializableData, SerializedData
from textual.app import App
from textual.widgets import Input, TextArea

SIZES = ((80, 24), (120, 40))
SvgSnapshot: TypeAlias = Callable[[App[Any]], None]


def normalised(svg: str) -> str:
    """Take out what differs between two runs that look the same."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    # Without it some programs that draw pictures leave out the spaces at the start of a text.
    svg = re.sub(r"<svg (?!xml:space)", '<svg xml:space="preserve" ', svg, count=1)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).strip() + "\n"


class SvgExtension(SingleFileSnapshotExtension):
    """Writes each picture into a file of its own, so that a review can open it."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: SerializableData, **_choice: Any) -> SerializedData:
        return normalised(str(data))


def picture(app: App[Any]) -> str:
    return app.export_screenshot(title="ollm", simplify=True)


@pytest.fixture
def svg_snapshot(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> SvgSnapshot:
    """Compare what an app shows with the stored picture of this test and its parameters.

    Cursors do not blink, or two pictures of one state would differ.
    """
    for field in (Input, TextArea):
        monkeypatch.setattr(field.cursor_blink, "_default", False)
    pictures = snapshot.use_extension(SvgExtension)

    def compare(app: App[Any]) -> None:
        assert picture(app) == pictures

    return compare
