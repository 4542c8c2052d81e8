"""No text from outside drives the terminal: it is seen as text, whichever door it came through."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hostile.doors import SCENES, Scene, Shows
from tests.hostile.payloads import PAYLOADS, Payload, unseen, unseen_names, unspelled
from tests.hostile.scenes import Seen
from tests.support.vt import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [pytest.mark.pty, pytest.mark.slow]

STRINGS = {"]2", "]22"}
"""The title of the window, and the shape of the mouse pointer."""
CURSOR = {"SGR 7"}
"""The cursor behind the last letter, where a frame happens to show it."""


@pytest.mark.parametrize("name", SCENES)
def test_a_hostile_session_prints_nothing_that_a_plain_one_does_not(
    name: str, tmp_path: Path
) -> None:
    scene = SCENES[name]
    usual = scene.play(tmp_path / "usual", benign=True)
    hostile = scene.play(tmp_path / "hostile", benign=False)
    assert hostile.grammar - usual.grammar <= CURSOR
    assert sequences_in(hostile, scene, usual) == []
    assert strings_in(hostile.raw) <= STRINGS
    assert hostile.seen.keys() == scene.doors.keys()
    assert hidden(hostile, scene) == {}


def sequences_in(seen: Seen, scene: Scene, usual: Seen) -> list[str]:
    """Name the payloads whose sequences were printed as they are, long ones only."""
    return [
        payload.name
        for payload in scene.payloads
        if _is_sequence(payload.text)
        and payload.text.encode() in seen.raw
        and payload.text.encode() not in usual.raw
    ]


def strings_in(raw: bytes) -> set[str]:
    """Give the first letters of the strings in the output that tell the terminal something.

    `]52` writes the clipboard, `]8` makes a link, `P` asks the terminal what it is.
    """
    found = [token.raw for token in tokens(raw) if token.kind == "string"]
    assert all(body.isprintable() for text in found if (body := text[1:].rstrip("\a\x1b\\")))
    return {text[1:].partition(";")[0] for text in found}


def _is_sequence(text: str) -> bool:
    return len(text) > 5 and not text.isprintable()


def hidden(seen: Seen, scene: Scene) -> dict[str, list[str]]:
    """Name by door the payloads that did not look as they have to."""
    look: dict[Shows, Callable[[Sequence[Payload], str], list[str]]] = {
        Shows.TEXT: unseen,
        Shows.NAME: unseen_names,
        Shows.SPELLED: unspelled,
    }
    found = {
        door: [
            name
            for name in look[shows](scene.payloads, seen.seen[door])
            if name not in scene.not_here
        ]
        for door, shows in scene.doors.items()
        if shows in look
    }
    return {door: names for door, names in found.items() if names}


def test_there_are_enough_payloads_and_doors() -> None:
    assert len(PAYLOADS) >= 40
    assert len({payload.text for payload in PAYLOADS}) == len(PAYLOADS)
    assert sum(len(scene.doors) for scene in SCENES.values()) >= 25
